// tests/support/fake_hub.h: a hub on loopback with one model, and a storage host beside it, that can
// misbehave.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "hub/settings.h"
#include "support/loopback_server.h"

namespace d3::test {

/// A request as it arrived.
struct HubRequest {
  bool storage = false;  ///< at the storage host
  std::string method;
  std::string target;
  std::string authorization;  ///< header, empty when there is none
  std::string range;
};

/// Serves org/model at commit kCommit, branch main. Files in `large` are redirected to the storage host and
/// have the SHA-256 as ETag; the others come from the hub itself with git's SHA-1.
class FakeHub {
 public:
  static constexpr const char* kRepo = "org/model";
  static constexpr const char* kCommit = "0123456789abcdef0123456789abcdef01234567";

  struct File {
    std::string content;
    bool large = false;
  };
  /// Replaces the answer to a request, where it gives one. Called by one thread at a time.
  using Misbehave =
      std::function<std::optional<LoopbackServer::Reply>(const HubRequest& request, const std::string& good)>;

  explicit FakeHub(std::map<std::string, File> files = some_files());

  /// config.json and all else a checkpoint has, with a few bytes in each, and model.safetensors of 100,000.
  static std::map<std::string, File> some_files();

  /// A client's settings: parts of 16,384 bytes, four connections, an empty cache in `directory`.
  hub::Settings settings(const std::filesystem::path& directory) const;
  std::string url() const { return hub_.url(""); }

  void misbehave(Misbehave misbehave);
  std::map<std::string, File>& files() { return files_; }  ///< to change while no client runs

  std::vector<HubRequest> requests() const;
  /// How many requests had this in their target.
  int count(const std::string& part_of_target) const;

  static std::string etag(const File& file);

 private:
  LoopbackServer::Reply answer(const std::string& head, bool storage);
  std::string good_answer(const HubRequest& request) const;
  std::string listing() const;
  std::string resolve(const HubRequest& request, const std::string& path) const;

  std::map<std::string, File> files_;
  mutable std::mutex mutex_;
  Misbehave misbehave_;
  std::vector<HubRequest> requests_;
  LoopbackServer storage_;
  LoopbackServer hub_;
};

/// An answer with a body, its length, and further headers that end in \r\n.
std::string http_answer(const std::string& status, const std::string& body, const std::string& headers = {});

/// Only the first `bytes` of an answer's body, though the headers promise all: the connection is cut.
std::string cut_body(const std::string& answer, size_t bytes);

}  // namespace d3::test
