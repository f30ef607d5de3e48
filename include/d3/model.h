// d3/model.h: a loaded model.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "d3/answer.h"
#include "d3/export.h"
#include "d3/request.h"
#include "d3/result.h"

namespace d3 {

/// The arithmetic of a model.
enum class Dtype {
  kAuto,      ///< bfloat16
  kBfloat16,  ///< the checkpoint's own
  kFloat32,   ///< exact, twice the memory
  kInt8,      ///< weights quantised on load: half the memory, less exact; needs a CPU with int8 products
};

/// How far a checkpoint's files are checked against its MODEL_MANIFEST.json, where it has one.
enum class Verify {
  kFast,  ///< digests of files up to 64 MiB, sizes of larger ones
  kFull,  ///< all digests
  kNone,
};

/// Where models that are asked for by name come from: Hugging Face's hub and the cache that its Python client
/// keeps.
struct HubOptions {
  /// Whether what is left empty below comes from the environment as Hugging Face's client reads it (HF_HOME,
  /// HF_HUB_CACHE, HF_TOKEN, HF_ENDPOINT, HF_HUB_OFFLINE, proxies, ..). No thread may then change the
  /// environment while a model loads. False: `cache` must be given and nothing else is read.
  bool use_environment = true;
  std::string revision = {};              ///< branch, tag or commit; also as ORG/NAME@REVISION. Empty: main
  bool offline = false;                   ///< only what is in the cache
  std::filesystem::path cache = {};       ///< the directory that holds models--ORG--NAME
  std::string endpoint = {};              ///< empty: https://huggingface.co
  std::optional<std::string> token = {};  ///< sent to the endpoint alone
  /// Called while files come, from the loading threads but one at a time. Must not throw.
  std::function<void(std::uint64_t done_bytes, std::uint64_t all_bytes)> on_progress = {};
  /// A line that a user should see: another process is waited for, the hub does not answer. Must not throw.
  std::function<void(const std::string& line)> on_notice = {};
};

struct LoadOptions {
  Dtype dtype = Dtype::kAuto;
  int threads = 0;  ///< that compute; 0: every CPU the process may use
  Verify verify = Verify::kFast;
  /// Most tokens of one question's prompt, instead of the checkpoint's own limit; longer ones are refused.
  std::optional<std::int64_t> max_length = {};
  std::int64_t max_batch_tokens = 1024;    ///< tokens computed together; more makes others wait longer
  std::size_t max_queued_requests = 1024;  ///< asked and not answered; more fail with kOverloaded
  std::string cpu_target = {};             ///< SIMD code by name instead of the best this CPU has

  std::size_t vision_cache_bytes = std::size_t{512} << 20;  ///< what is kept of images and videos for later
  bool fetch_media = true;  ///< false: http and https URLs are refused, data URLs are not
  /// Hosts that media may be fetched from; *.example.com for those under a name. Empty: any with a public
  /// address.
  std::vector<std::string> media_hosts = {};
  std::chrono::milliseconds media_timeout{10'000};  ///< to fetch one image or video

  HubOptions hub = {};
  /// Called from a loading thread with the share of the weights packed so far, 0 to 1. Must not throw.
  std::function<void(double)> on_progress = {};
};

struct ModelInfo {
  std::string name;                        ///< the manifest's, else as given to Model::load
  std::filesystem::path directory;         ///< where the checkpoint is; empty for the one inside the library
  std::string dtype;                       ///< "bfloat16", "float32", "int8"
  std::optional<std::int64_t> max_length;  ///< tokens of one question's prompt; none: not limited
  bool takes_media = false;                ///< reads images and videos
};

/// A loaded model. It has threads of its own, which compute; a process may have several models, though they
/// then share the CPUs. All members but assignment and destruction may be called from any number of threads
/// at once, and more asked at once makes larger batches.
class Model {
 public:
  /// Loads a checkpoint's directory (the one with config.json), or a model on the hub by its name: ORG/NAME,
  /// ORG/NAME@REVISION, or d3-nano and its like alone for vllm-sr/d3-nano; it is fetched into the cache when
  /// it is not there. What there is on disk under that name is taken for a directory first. "demo" is the small
  /// demonstration model inside the library, and ./demo a directory of that name.
  D3_API static Result<Model> load(const std::string& model, const LoadOptions& options = {});

  D3_API Model(Model&&) noexcept;
  D3_API Model& operator=(Model&&) noexcept;
  /// Ends what is not answered with kUnavailable, after the batch that runs. A model that was moved from may
  /// only be assigned to and destroyed.
  D3_API ~Model();

  D3_API const ModelInfo& info() const;

  /// Asks and waits.
  D3_API Result<Reply> ask(Request request) const;

  /// Checks the request, reads its media and makes it ready on the calling thread, then queues it. The future
  /// always gets its result, and outlives the model.
  D3_API std::future<Result<Reply>> submit(Request request) const;

  /// Asks any number of requests in full batches and waits for all: results[i] belongs to requests[i]. It
  /// leaves half the queue to others.
  D3_API std::vector<Result<Reply>> ask_all(std::vector<Request> requests) const;

  /// Asks with the JSON body of `POST /v1/systemone` and gives the body of its answer. `model` in the request
  /// is not looked at.
  D3_API Result<std::string> ask_json(std::string_view body) const;

 private:
  class Impl;
  explicit Model(std::unique_ptr<Impl> impl);

  std::unique_ptr<Impl> impl_;
};

/// The library's version, "0.1.0".
D3_API std::string_view version();

}  // namespace d3
