// JPEG by libjpeg-turbo with its defaults, which are the reference's: slow integer DCT, fancy upsampling.
#include <cstdio>  // jpeglib.h needs it
#include <string>

#include <jpeglib.h>

#include "media/guarded.h"
#include "media/image.h"
#include "media/refusal.h"

namespace d3::media {
namespace {

class JpegReader {
 public:
  JpegReader(Bytes encoded, const MediaOptions& options) : calls_("JPEG", options.max_image_seconds) {
    info_.err = jpeg_std_error(&errors_);
    info_.client_data = this;
    errors_.error_exit = [](j_common_ptr info) {
      GuardedCalls& calls = reader(info).calls_;
      info->err->format_message(info, calls.message());
      calls.fail();
    };
    errors_.emit_message = [](j_common_ptr, int) {
    };  // warnings: what can be decoded is, as the reference does
    progress_.progress_monitor = [](j_common_ptr info) { reader(info).calls_.check_time(); };
    calls_.run([&] {
      jpeg_create_decompress(&info_);
      jpeg_mem_src(&info_, reinterpret_cast<const unsigned char*>(encoded.data()), encoded.size());
      info_.src->fill_input_buffer = [](j_decompress_ptr info) -> boolean {
        reader(reinterpret_cast<j_common_ptr>(info)).calls_.cut_short();
      };
      info_.progress = &progress_;
    });
  }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;
  ~JpegReader() { jpeg_destroy_decompress(&info_); }

  Image read(const MediaOptions& options) {
    calls_.run([&] { jpeg_read_header(&info_, TRUE); });
    const int components = info_.num_components;
    if (components != 1 && components != 3 && components != 4)
      refuse("a JPEG image of " + std::to_string(components) + " components");
    Image image = allocate_image(info_.image_width, info_.image_height, options);
    info_.out_color_space = components == 4 ? JCS_CMYK : JCS_RGB;
    calls_.run([&] { jpeg_start_decompress(&info_); });
    const size_t stride = static_cast<size_t>(image.width) * 3;
    if (components == 4) {
      std::vector<uint8_t> cmyk(static_cast<size_t>(image.width) * 4);
      for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) {
        read_row(cmyk.data());
        write_rgb(cmyk, image.rgb.data() + y * stride);
      }
    } else {
      for (size_t y = 0; y < static_cast<size_t>(image.height); ++y) read_row(image.rgb.data() + y * stride);
    }
    return image;
  }

 private:
  static JpegReader& reader(j_common_ptr info) { return *static_cast<JpegReader*>(info->client_data); }

  void read_row(uint8_t* row) {
    calls_.run([&] {
      while (jpeg_read_scanlines(&info_, &row, 1) != 1) {
      }
    });
  }

  /// As Adobe writes them, the four inks are stored inverted: each value is 255 less the ink.
  static void write_rgb(const std::vector<uint8_t>& cmyk, uint8_t* rgb) {
    for (size_t i = 0; i < cmyk.size(); i += 4)
      for (size_t channel = 0; channel < 3; ++channel) {
        const int product = cmyk[i + channel] * cmyk[i + 3] + 128;
        *rgb++ = static_cast<uint8_t>((product + (product >> 8)) >> 8);
      }
  }

  jpeg_decompress_struct info_{};
  jpeg_error_mgr errors_{};
  jpeg_progress_mgr progress_{};
  GuardedCalls calls_;
  static_assert(GuardedCalls::kMessageBytes >= JMSG_LENGTH_MAX);
};

}  // namespace

Image decode_jpeg(Bytes encoded, const MediaOptions& options) {
  return JpegReader(encoded, options).read(options);
}

}  // namespace d3::media
