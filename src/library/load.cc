#include "library/load.h"

#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "base/error.h"
#include "base/process_environment.h"
#include "demo/demo.h"
#include "hub/model_name.h"
#include "hub/pull.h"
#include "hub/settings.h"

namespace d3::library {
namespace {

hub::Settings settings_of(const HubOptions& options) {
  hub::Settings settings;
  if (options.use_environment)
    settings = hub::settings_from(environment_variable, home_directory());
  else if (options.cache.empty())
    throw Error(ErrorCode::kInvalidArgument, "hub.cache: is needed where the environment is not used",
                "hub.cache");
  if (!options.cache.empty()) settings.cache = options.cache;
  if (!options.endpoint.empty()) settings.endpoint = hub::without_end_slash(options.endpoint);
  if (options.token) settings.token = options.token;
  if (options.offline) settings.offline = true;
  return settings;
}

void check(bool possible, const std::string& option, std::string_view rule) {
  if (!possible)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("{}: must be {}", option, rule), option);
}

cpu::Dtype dtype_of(Dtype dtype) {
  switch (dtype) {
    case Dtype::kFloat32:
      return cpu::Dtype::kFloat32;
    case Dtype::kInt8:
      return cpu::Dtype::kInt8;
    case Dtype::kAuto:
    case Dtype::kBfloat16:
      break;
  }
  return cpu::Dtype::kBfloat16;
}

checkpoint::Verify verify_of(Verify verify) {
  switch (verify) {
    case Verify::kFull:
      return checkpoint::Verify::kFull;
    case Verify::kNone:
      return checkpoint::Verify::kNone;
    case Verify::kFast:
      break;
  }
  return checkpoint::Verify::kFast;
}

}  // namespace

Folder find_checkpoint(const std::string& model, const HubOptions& options) {
  if (model == demo::kName) {
    if (!options.revision.empty())
      throw Error(ErrorCode::kInvalidArgument,
                  "hub.revision: is for a model on the hub, and demo is part of d3", "hub.revision");
    return demo::folder();
  }
  std::error_code ignored;
  if (std::filesystem::exists(model, ignored) || hub::looks_like_path(model)) {
    if (!options.revision.empty())
      throw Error(ErrorCode::kInvalidArgument, "hub.revision: is for a model on the hub, and this is a path",
                  "hub.revision");
    return Folder(std::filesystem::path(model));
  }
  if (!options.revision.empty() && model.find('@') != std::string::npos)
    throw Error(ErrorCode::kInvalidArgument, "hub.revision: a revision is given twice, after @ too",
                "hub.revision");
  const hub::ModelName name = hub::parse_owned_model_name(model, options.revision);
  hub::PullEvents events;
  if (options.on_progress)
    events.progress = [&](const hub::PullProgress& progress) {
      options.on_progress(progress.done, progress.bytes);
    };
  events.notice = options.on_notice;
  return hub::pull(name, settings_of(options), events).directory;
}

engine::LoadOptions engine_options(const Folder& folder, const LoadOptions& options) {
  constexpr int kMaxThreads = 4096;
  constexpr int64_t kMaxTokens = int64_t{1} << 24U;
  check(options.threads >= 0 && options.threads <= kMaxThreads, "threads", "0 to 4096");
  check(!options.max_length || (*options.max_length >= 16 && *options.max_length <= kMaxTokens), "max_length",
        "16 to 16777216");
  check(options.max_batch_tokens >= 1 && options.max_batch_tokens <= kMaxTokens, "max_batch_tokens",
        "1 to 16777216");
  check(options.max_queued_requests >= 1, "max_queued_requests", "1 or more");
  check(options.media_timeout.count() > 0, "media_timeout", "more than 0");
  engine::LoadOptions out;
  out.directory = folder;
  out.verify = verify_of(options.verify);
  out.dtype = dtype_of(options.dtype);
  out.threads = options.threads;
  out.cpu_target = options.cpu_target;
  out.max_length = options.max_length;
  out.engine.max_batch_tokens = options.max_batch_tokens;
  out.engine.max_queued_requests = options.max_queued_requests;
  out.engine.max_queue_time = std::chrono::milliseconds(0);  // who asks in the process waits as it likes
  out.engine.vision_cache_bytes = options.vision_cache_bytes;
  out.media.fetch.remote = options.fetch_media;
  out.media.fetch.allowed_hosts = options.media_hosts;
  out.media.fetch.max_seconds = std::chrono::duration<double>(options.media_timeout).count();
  out.on_progress = options.on_progress;
  return out;
}

}  // namespace d3::library
