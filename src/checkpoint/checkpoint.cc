#include "checkpoint/checkpoint.h"

#include <utility>

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/error.h"
#include "checkpoint/file.h"
#include "checkpoint/manifest.h"
#include "checkpoint/messages.h"
#include "checkpoint/weights.h"

namespace d3::checkpoint {
namespace {

namespace fs = std::filesystem;

void check_token_ids(const DecisionConfig& decision, int vocab_size, const fs::path& directory) {
  for (size_t i = 0; i < decision.token_ids.size(); ++i)
    if (decision.token_ids[i] >= vocab_size)
      throw bad_key(ErrorCode::kBadCheckpoint, directory / "decision_config.json",
                    fmt::format("token_ids[{}]", i),
                    fmt::format("is {}; the vocabulary has {} tokens", decision.token_ids[i], vocab_size));
}

}  // namespace

struct Checkpoint::Impl {
  fs::path directory;
  Config config;
  DecisionConfig decision;
  Weights weights;
  Readout readout;
  std::string model_name;
  std::string repo_id;
  bool embedded = false;
};

Checkpoint Checkpoint::open(const Folder& folder, Verify verify) {
  const fs::path& directory = folder.path();
  std::error_code error;
  if (!folder.embedded() && !fs::is_directory(directory, error))
    throw Error(ErrorCode::kNotFound, fmt::format("{}: there is no such directory", directory.string()),
                directory.string());
  auto impl = std::make_unique<Impl>();
  impl->directory = directory;
  impl->embedded = folder.embedded();
  if (const std::optional<Manifest> manifest = read_manifest(folder)) {
    impl->model_name = manifest->model_name;
    impl->repo_id = manifest->repo_id;
    verify_files(*manifest, folder, verify);
  }
  impl->config = read_config(folder);
  impl->decision = read_decision_config(folder);
  check_token_ids(impl->decision, impl->config.text.vocab_size, directory);
  for (const char* name : {"tokenizer.json", "tokenizer_config.json"}) require_file(folder, name);
  impl->weights = open_weights(folder, impl->config);
  impl->readout = open_readout(folder, impl->config.text.hidden_size);
  if (impl->weights.has_vision) check_preprocessors(folder);
  return Checkpoint(std::move(impl));
}

Checkpoint::Checkpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Checkpoint::Checkpoint(Checkpoint&&) noexcept = default;
Checkpoint& Checkpoint::operator=(Checkpoint&&) noexcept = default;
Checkpoint::~Checkpoint() = default;

const fs::path& Checkpoint::directory() const { return impl_->directory; }
const Config& Checkpoint::config() const { return impl_->config; }
const DecisionConfig& Checkpoint::decision() const { return impl_->decision; }
bool Checkpoint::has_vision() const { return impl_->weights.has_vision; }
const TensorView& Checkpoint::readout() const { return impl_->readout.weight; }
const std::string& Checkpoint::model_name() const { return impl_->model_name; }
const std::string& Checkpoint::repo_id() const { return impl_->repo_id; }

const TensorView& Checkpoint::tensor(std::string_view name) const {
  const auto found = impl_->weights.tensors.find(name);
  if (found == impl_->weights.tensors.end())
    throw Error(ErrorCode::kBadCheckpoint,
                fmt::format("{}: has no tensor {}", impl_->directory.string(), name), std::string(name));
  return found->second;
}

void Checkpoint::release_pages(const TensorView& tensor) const {
  if (impl_->embedded) return;  // nobody says that its memory is a file's
  // Only whole pages: those at the ends are shared with the neighbours.
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = reinterpret_cast<uintptr_t>(tensor.data.data());
  const uintptr_t first = (begin + page - 1) / page * page;
  const uintptr_t last = (begin + tensor.data.size()) / page * page;
  if (first >= last) return;
  // Advice: when the kernel declines it, nothing is lost but memory.
  ::madvise(const_cast<std::byte*>(tensor.data.data()) + (first - begin), last - first, MADV_DONTNEED);
}

}  // namespace d3::checkpoint
