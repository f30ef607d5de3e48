// media/image_type.h: which image format a file's first bytes show.
#pragma once

#include <algorithm>
#include <optional>
#include <string_view>

namespace d3::media {

enum class ImageType { kPng, kJpeg, kWebp };

/// None for anything but the signatures of PNG, JPEG and WebP.
constexpr std::optional<ImageType> image_type(std::string_view bytes) {
  if (bytes.starts_with("\x89PNG\r\n\x1a\n")) return ImageType::kPng;
  if (bytes.starts_with("\xff\xd8\xff")) return ImageType::kJpeg;
  if (bytes.starts_with("RIFF") && bytes.substr(std::min<size_t>(8, bytes.size())).starts_with("WEBP"))
    return ImageType::kWebp;
  return std::nullopt;
}

}  // namespace d3::media
