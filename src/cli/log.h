// cli/log.h: the log on standard error.
#pragma once

#include <memory>
#include <string>

#include <spdlog/logger.h>

#include "server/options.h"

namespace d3::cli {

/// Lines of text (`2026-12-02T10:46:19.123+00:00 info MESSAGE`), or JSON objects with `time`, `level` and
/// `message`; the lines of requests have members of their own instead of a message (server/access_log.h). A
/// line that cannot be written is lost, and nothing else happens.
std::shared_ptr<spdlog::logger> make_log(const std::string& level, server::LogFormat format);

}  // namespace d3::cli
