// Files that are cut, flipped or lie: every one is read or refused in one line that names the item.
#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <zlib.h>

#include "base/error.h"
#include "golden_media.h"
#include "media/media.h"

namespace d3::media {
namespace {

using testing::HasSubstr;
using File = std::vector<std::byte>;

bool is_video(const std::string& name) {
  const std::string type = std::filesystem::path(name).extension();
  return type == ".mp4" || type == ".mov" || type == ".mkv" || type == ".webm";
}

std::vector<std::string> files() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(test::data_path("media")))
    if (entry.path().extension() != ".json") names.push_back(entry.path().filename());
  std::ranges::sort(names);
  return names;
}

/// Two seconds of CPU time for one file, as for an image always.
MediaOptions limits() {
  MediaOptions options;
  options.max_video_seconds = 2;
  return options;
}

/// A line of /proc/self/status in bytes: `VmRSS` is what the process holds, `VmHWM` the most it held.
size_t memory(const std::string& name) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with(name + ":")) return std::stoul(line.substr(name.size() + 1)) * 1024;
  return 0;
}

/// Expects that the process never holds more than 256 MiB beyond what it held at the start and one image of
/// the most pixels allowed. The sanitizers' own memory counts for nothing.
class MemoryBound {
 public:
  MemoryBound() {
    std::ofstream("/proc/self/clear_refs") << "5";  // VmHWM starts anew
    start_ = memory("VmRSS");
  }
  MemoryBound(const MemoryBound&) = delete;
  MemoryBound& operator=(const MemoryBound&) = delete;
  ~MemoryBound() {
#ifndef D3_SANITIZED
    EXPECT_GT(start_, 0U);
    EXPECT_LE(memory("VmHWM"), start_ + (256U << 20U) + 3 * static_cast<size_t>(limits().max_image_pixels));
#endif
  }

 private:
  size_t start_ = 0;
};

/// The refusal's reason; empty for a file that was read.
std::string read(const File& file, bool video, const MediaOptions& options = limits()) {
  const std::string field = video ? "videos[3]" : "images[3]";
  const MemoryBound bound;
  try {
    const Pixels pixels = video ? read_video(file, options, field) : read_image(file, options, field);
    EXPECT_EQ(pixels.rgb.size(), static_cast<size_t>(pixels.frames) * static_cast<size_t>(pixels.height) *
                                     static_cast<size_t>(pixels.width) * 3);
    return {};
  } catch (const Error& error) {
    const std::string what = error.what();
    EXPECT_EQ(error.code(), ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.field(), field);
    EXPECT_THAT(what, testing::StartsWith(field + ": "));
    EXPECT_LT(what.size(), 300U);
    EXPECT_EQ(what.find('\n'), std::string::npos);
    return what.substr(std::min(what.size(), field.size() + 2));
  }
}

TEST(HostileMedia, CutAtEachSixteenth) {
  size_t refused = 0;
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    const File whole = test::media_file(name);
    for (size_t part = 0; part < 16; ++part) {
      const File cut(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(whole.size() * part / 16));
      const std::string reason = read(cut, is_video(name));
      if (!reason.empty()) ++refused;
      // Of a video the frames that are there may be enough, and of a small PNG the end mark alone is missing.
      if (!is_video(name) && part < 15) {
        EXPECT_NE(reason, "") << part;
      }
    }
  }
  EXPECT_GT(refused, 500U);
}

TEST(HostileMedia, FlippedBits) {
  std::mt19937 random(5);
  for (const std::string& name : files()) {
    SCOPED_TRACE(name);
    const File whole = test::media_file(name);
    for (int round = 0; round < 4; ++round) {
      File flipped = whole;
      for (int i = 0; i < 8; ++i)
        flipped[random() % flipped.size()] ^= static_cast<std::byte>(1U << random() % 8);
      read(flipped, is_video(name));
    }
  }
}

TEST(HostileMedia, OfTheOtherKind) {
  EXPECT_THAT(read(test::media_file("clip.mp4"), false), HasSubstr("not a PNG, JPEG or WebP"));
  EXPECT_NE(read(test::media_file("rgb.png"), true), "");
  EXPECT_NE(read({}, false), "");
  EXPECT_NE(read({}, true), "");
}

// ---- images made by hand ----

void append(File& file, std::string_view bytes) {
  const auto more = std::as_bytes(std::span(bytes));
  file.insert(file.end(), more.begin(), more.end());
}

std::string big_endian(uint32_t number) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8)
    text += static_cast<char>(number >> static_cast<unsigned>(shift) & 0xFFU);
  return text;
}

void append_chunk(File& png, const std::string& type, const std::string& content) {
  const std::string body = type + content;
  append(png, big_endian(static_cast<uint32_t>(content.size())));
  append(png, body);
  append(png, big_endian(static_cast<uint32_t>(
                  ::crc32(0, reinterpret_cast<const Bytef*>(body.data()), static_cast<uInt>(body.size())))));
}

std::string deflated(const std::string& content) {
  uLongf size = ::compressBound(content.size());
  std::string out(size, '\0');
  ::compress2(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(content.data()),
              content.size(), Z_BEST_COMPRESSION);
  out.resize(size);
  return out;
}

/// 8-bit gray, with a chunk before the pixels.
File png(uint32_t width, uint32_t height, const std::string& pixels, const std::string& type = {},
         const std::string& content = {}) {
  File file;
  append(file, "\x89PNG\r\n\x1a\n");
  append_chunk(file, "IHDR", big_endian(width) + big_endian(height) + std::string("\x08\0\0\0\0", 5));
  if (!type.empty()) append_chunk(file, type, content);
  append_chunk(file, "IDAT", deflated(pixels));
  append_chunk(file, "IEND", "");
  return file;
}

TEST(HostileMedia, HeadersThatPromiseMuch) {
  EXPECT_THAT(read(png(65535, 65535, "x"), false), HasSubstr("16000000"));
  EXPECT_NE(read(png(0x7FFFFFFF, 0x7FFFFFFF, "x"), false), "");
  EXPECT_NE(read(png(0, 10, "x"), false), "");
  File jpeg = test::media_file("photo.jpg");
  const std::array<std::byte, 2> frame{std::byte{0xFF}, std::byte{0xC0}};
  const auto header = std::search(jpeg.begin(), jpeg.end(), frame.begin(), frame.end());
  ASSERT_NE(header, jpeg.end());
  std::fill_n(header + 5, 4, std::byte{0xF0});  // 61,680 x 61,680
  EXPECT_THAT(read(jpeg, false), HasSubstr("16000000"));
  File webp = test::media_file(
      "alpha.webp");  // lossless: 14 bits of width - 1 and of height - 1 after "VP8L", size, 0x2F
  const std::string_view text(reinterpret_cast<const char*>(webp.data()), webp.size());
  const size_t at = text.find("VP8L");
  ASSERT_NE(at, std::string_view::npos);
  std::fill_n(webp.begin() + static_cast<std::ptrdiff_t>(at + 9), 3, std::byte{0xFF});
  EXPECT_NE(read(webp, false), "");
}

TEST(HostileMedia, BombsInPngs) {
  const std::string row(101, '\0');
  std::string image;
  for (int i = 0; i < 100; ++i) image += row;
  EXPECT_EQ(read(png(100, 100, image), false), "");
  // 100 MB of pixels where 10 kB belong, and as a colour profile and a comment.
  const std::string zeros(100'000'000, '\0');
  read(png(100, 100, zeros), false);
  const std::string bomb = deflated(zeros);
  read(png(100, 100, image, "iCCP", std::string("p\0\0", 3) + bomb), false);
  read(png(100, 100, image, "zTXt", std::string("p\0\0", 3) + bomb), false);
  EXPECT_NE(read(png(100, 100, "few"), false), "");
}

// An animation's first frame is shown; the others are not decoded.
TEST(HostileMedia, AnAnimationOfTenThousandFrames) {
  File file = test::media_file("anim.webp");
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t first = text.find("ANMF");
  const size_t second = text.find("ANMF", first + 4);
  ASSERT_NE(second, std::string_view::npos);
  const std::string frame(text.substr(first, second - first));
  std::string frames;
  for (int i = 0; i < 10'000; ++i) frames += frame;
  const auto more = std::as_bytes(std::span(frames));
  file.insert(file.end(), more.begin(), more.end());
  const auto riff_size = static_cast<uint32_t>(file.size() - 8);
  for (size_t i = 0; i < 4; ++i) file[4 + i] = static_cast<std::byte>(riff_size >> 8 * i & 0xFFU);
  MediaOptions options = limits();
  options.max_image_bytes = file.size();
  EXPECT_EQ(read(file, false, options), "");
}

// ---- videos whose headers lie ----

/// Changes the bytes after the first box of this name.
File patched(const std::string& name, std::string_view box, size_t offset, std::string_view bytes) {
  File file = test::media_file(name);
  const std::string_view text(reinterpret_cast<const char*>(file.data()), file.size());
  const size_t at = text.find(box);
  EXPECT_NE(at, std::string_view::npos);
  std::memcpy(file.data() + at + 4 + offset, bytes.data(), bytes.size());
  return file;
}

TEST(HostileMedia, VideosThatLie) {
  // mdhd, version 0: version and flags, two times, then time scale and duration.
  const std::string most = big_endian(0x7FFFFFFF);
  const std::string none = big_endian(0);
  for (const std::string& name :
       {std::string("short.mp4"), std::string("clip.mp4"), std::string("odd.mov")}) {
    SCOPED_TRACE(name);
    read(patched(name, "mdhd", 16, most), true);         // lasts for years
    read(patched(name, "mdhd", 16, none), true);         // does not last
    read(patched(name, "mdhd", 12, none + most), true);  // no time scale
    read(patched(name, "mdhd", 12, most + most), true);
    read(patched(name, "mvhd", 12, none + most), true);
    read(patched(name, "stts", 4, most + most), true);            // more entries than the box holds
    read(patched(name, "stsz", 8, most), true);                   // more frames than the box holds
    read(patched(name, "stsz", 4, most), true);                   // frames larger than the file
    EXPECT_NE(read(patched(name, "hdlr", 8, "soun"), true), "");  // sound alone
  }
}

TEST(HostileMedia, AVideoWhoseFramesChangeTheirSize) {
  EXPECT_THAT(read(test::media_file("sizes.mp4"), true), HasSubstr("change their size"));
}

}  // namespace
}  // namespace d3::media
