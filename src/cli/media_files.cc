#include "cli/media_files.h"

#include <span>

#include <CLI/CLI.hpp>

#include "cli/input.h"
#include "decision/validation.h"

namespace d3::cli {
namespace {

void append_files(std::vector<decision::Medium>& media, const std::vector<std::string>& paths) {
  for (const std::string& path : paths) {
    const std::string content = read_file(path);
    const auto bytes = std::as_bytes(std::span(content));
    media.push_back({.file = {bytes.begin(), bytes.end()}});
  }
}

}  // namespace

void MediaFiles::add_to(CLI::App& app) {
  app.add_option("--image", images_,
                 "An image that the questions are about: PNG, JPEG or WebP (may be repeated)")
      ->type_name("FILE")
      ->allow_extra_args(false);
  app.add_option("--video", videos_, "A video: MP4, MOV, WebM or Matroska (may be repeated)")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

void MediaFiles::append_to(decision::Request& request) const {
  append_files(request.images, images_);
  append_files(request.videos, videos_);
  decision::check_media_placeholders(request);
}

}  // namespace d3::cli
