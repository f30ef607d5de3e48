// PNG by libpng: transparency dropped, no gamma, no colour profile.
#include <algorithm>
#include <cstring>
#include <new>

#include <png.h>

#include "media/guarded.h"
#include "media/image.h"
#include "media/refusal.h"

namespace d3::media {
namespace {

class PngReader {
 public:
  PngReader(Bytes encoded, const MediaOptions& options)
      : rest_(encoded), calls_("PNG", options.max_image_seconds) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, on_error, [](png_structp, png_const_charp) {});
    if (png_ == nullptr) throw std::bad_alloc();
    info_ = png_create_info_struct(png_);
    if (info_ == nullptr) {
      png_destroy_read_struct(&png_, nullptr, nullptr);
      throw std::bad_alloc();
    }
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_destroy_read_struct(&png_, &info_, nullptr); }

  Image read(const MediaOptions& options) {
    calls_.run([&] {
      png_set_read_fn(png_, this, on_read);
      skip_descriptions();
      png_read_info(png_, info_);
    });
    Image image =
        allocate_image(png_get_image_width(png_, info_), png_get_image_height(png_, info_), options);
    const bool wide_gray =
        png_get_color_type(png_, info_) == PNG_COLOR_TYPE_GRAY && png_get_bit_depth(png_, info_) == 16;
    const int passes = set_transforms(wide_gray);
    if (wide_gray) {
      std::vector<uint8_t> samples(image.rgb.size() / 3 * 2);
      read_rows(samples.data(), samples.size() / static_cast<size_t>(image.height), image.height, passes);
      write_clipped(samples, image.rgb.data());
    } else {
      read_rows(image.rgb.data(), static_cast<size_t>(image.width) * 3, image.height, passes);
    }
    return image;
  }

 private:
  static PngReader& reader(png_structp png) { return *static_cast<PngReader*>(png_get_io_ptr(png)); }

  [[noreturn]] static void on_error(png_structp png, png_const_charp message) {
    auto& self = *static_cast<PngReader*>(png_get_error_ptr(png));
    std::strncpy(self.calls_.message(), message, GuardedCalls::kMessageBytes - 1);
    self.calls_.fail();
  }

  static void on_read(png_structp png, png_bytep out, size_t size) {
    PngReader& self = reader(png);
    if (size > self.rest_.size()) self.calls_.cut_short();
    std::memcpy(out, self.rest_.data(), size);
    self.rest_ = self.rest_.subspan(size);
  }

  /// Only the chunks that pixels come from are read; texts and profiles, which may unpack to any size, are
  /// passed over.
  void skip_descriptions() {
    png_set_keep_unknown_chunks(png_, PNG_HANDLE_CHUNK_NEVER, nullptr, -1);
    png_set_user_limits(png_, PNG_UINT_31_MAX, PNG_UINT_31_MAX);  // allocate_image() has the limits
    png_set_chunk_malloc_max(png_, 1 << 20);
  }

  int set_transforms(bool wide_gray) {
    int passes = 1;
    calls_.run([&] {
      passes = png_set_interlace_handling(png_);
      if (!wide_gray) {
        png_set_strip_16(png_);
        png_set_expand(png_);
        png_set_strip_alpha(png_);
        png_set_gray_to_rgb(png_);
      }
      png_read_update_info(png_, info_);
    });
    return passes;
  }

  void read_rows(uint8_t* pixels, size_t stride, int height, int passes) {
    if (png_get_rowbytes(png_, info_) != stride) refuse("damaged PNG image: its rows are of an odd size");
    calls_.run([&] {
      for (int pass = 0; pass < passes; ++pass)
        for (int y = 0; y < height; ++y) {
          png_read_row(png_, pixels + static_cast<size_t>(y) * stride, nullptr);
          if ((y & 63) == 0) calls_.check_time();
        }
    });
  }

  /// 16-bit gray, most significant byte first, clipped at 255.
  static void write_clipped(const std::vector<uint8_t>& samples, uint8_t* rgb) {
    for (size_t i = 0; i < samples.size(); i += 2) {
      const uint8_t gray = samples[i] != 0 ? 255 : samples[i + 1];
      rgb = std::fill_n(rgb, 3, gray);
    }
  }

  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  Bytes rest_;
  GuardedCalls calls_;
};

}  // namespace

Image decode_png(Bytes encoded, const MediaOptions& options) {
  return PngReader(encoded, options).read(options);
}

}  // namespace d3::media
