// cli/media_options.h: the options of `d3 serve` about images and videos.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "cli/cli11.h"
#include "engine/load.h"

namespace d3::cli {

class MediaOptions {
 public:
  void add_to(CLI::App& app);
  void apply_to(engine::LoadOptions& options) const;

 private:
  std::vector<std::string> allowed_hosts_;
  bool no_remote_ = false;
  double timeout_ = media::FetchOptions{}.max_seconds;
  size_t cache_mb_ = engine::EngineOptions{}.vision_cache_bytes >> 20U;
  size_t max_items_ = engine::MediaLoaderOptions{}.max_items;
  int64_t max_image_pixels_ = media::MediaOptions{}.max_image_pixels;
  double max_video_seconds_ = media::MediaOptions{}.max_video_duration;
};

}  // namespace d3::cli
