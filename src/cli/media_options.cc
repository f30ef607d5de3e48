#include "cli/media_options.h"

#include <CLI/CLI.hpp>

namespace d3::cli {

void MediaOptions::add_to(CLI::App& app) {
  constexpr const char* kGroup = "Images and videos";
  app.add_option("--allow-media-host", allowed_hosts_,
                 "Fetch images and videos from this host alone; *.example.com for those under a name (may be "
                 "repeated)")
      ->type_name("HOST")
      ->allow_extra_args(false)
      ->group(kGroup);
  app.add_flag("--no-remote-media", no_remote_, "Fetch nothing: take data URLs and uploads alone")
      ->group(kGroup);
  app.add_option("--media-timeout", timeout_, "Seconds that fetching one image or video may take")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 3600.0).description(""))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--vision-cache-mb", cache_mb_,
                 "MiB of what the model has seen of images and videos, kept for later requests; 0: none")
      ->type_name("N")
      ->check(CLI::Range(size_t{0}, size_t{1} << 24U).description(""))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-media", max_items_, "Most images and videos of one request")
      ->type_name("N")
      ->check(CLI::Range(size_t{1}, size_t{1} << 16U).description(""))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-image-pixels", max_image_pixels_, "Most pixels of an image, before it is resized")
      ->type_name("N")
      ->check(CLI::Range(int64_t{1}, int64_t{1} << 30U).description(""))
      ->capture_default_str()
      ->group(kGroup);
  app.add_option("--max-video-seconds", max_video_seconds_, "How long a video may last")
      ->type_name("SECONDS")
      ->check(CLI::Range(0.1, 86400.0).description(""))
      ->capture_default_str()
      ->group(kGroup);
}

void MediaOptions::apply_to(engine::LoadOptions& options) const {
  options.engine.vision_cache_bytes = cache_mb_ << 20U;
  options.media.fetch.allowed_hosts = allowed_hosts_;
  options.media.fetch.remote = !no_remote_;
  options.media.fetch.max_seconds = timeout_;
  options.media.max_items = max_items_;
  options.media.media.max_image_pixels = max_image_pixels_;
  options.media.media.max_video_duration = max_video_seconds_;
}

}  // namespace d3::cli
