// cli/media_files.h: images and videos of the command line.
#pragma once

#include <string>
#include <vector>

#include "cli/cli11.h"
#include "decision/request.h"

namespace d3::cli {

/// --image and --video, local files.
class MediaFiles {
 public:
  void add_to(CLI::App& app);

  bool empty() const { return images_.empty() && videos_.empty(); }

  /// Reads the files behind the request's own images and videos. Throws Error(kNotFound) for a file that
  /// cannot be opened, and for texts that a request with media may not have
  /// (decision::check_media_placeholders).
  void append_to(decision::Request& request) const;

 private:
  std::vector<std::string> images_;
  std::vector<std::string> videos_;
};

}  // namespace d3::cli
