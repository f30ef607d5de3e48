#include "support/fake_hub.h"

#include <algorithm>
#include <cctype>

#include <openssl/evp.h>

#include "checkpoint/sha256.h"
#include "json/write.h"

namespace d3::test {
namespace {

std::string git_sha1(const std::string& content) {
  const std::string text = "blob " + std::to_string(content.size()) + std::string(1, '\0') + content;
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  EVP_Digest(text.data(), text.size(), digest, &size, EVP_sha1(), nullptr);
  std::string hex;
  for (unsigned i = 0; i < size; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4];
    hex += "0123456789abcdef"[digest[i] & 15];
  }
  return hex;
}

std::string header_of(const std::string& head, const std::string& name) {
  std::string lower = head;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  const size_t at = lower.find("\r\n" + name + ": ");
  if (at == std::string::npos) return {};
  const size_t begin = at + name.size() + 4;
  return head.substr(begin, head.find("\r\n", begin) - begin);
}

/// The part of a file that "bytes=FIRST-LAST" asks for.
std::string ranged(const std::string& content, const std::string& range, const std::string& headers) {
  if (range.empty()) return http_answer("200 OK", content, headers);
  const size_t first = std::stoull(range.substr(6));
  const size_t last = std::min<size_t>(std::stoull(range.substr(range.find('-') + 1)), content.size() - 1);
  return http_answer("206 Partial Content", content.substr(first, last - first + 1),
                     headers + "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(last) +
                         "/" + std::to_string(content.size()) + "\r\n");
}

}  // namespace

std::string http_answer(const std::string& status, const std::string& body, const std::string& headers) {
  return "HTTP/1.1 " + status + "\r\nContent-Length: " + std::to_string(body.size()) +
         "\r\nConnection: keep-alive\r\n" + headers + "\r\n" + body;
}

std::string cut_body(const std::string& answer, size_t bytes) {
  std::string cut = answer.substr(0, answer.find("\r\n\r\n") + 4 + bytes);
  const std::string keep = "Connection: keep-alive\r\n";
  return cut.erase(cut.find(keep), keep.size());
}

FakeHub::FakeHub(std::map<std::string, File> files)
    : files_(std::move(files)),
      storage_(LoopbackServer::HeadHandler([this](const std::string& head) { return answer(head, true); })),
      hub_(LoopbackServer::HeadHandler([this](const std::string& head) { return answer(head, false); })) {}

std::map<std::string, FakeHub::File> FakeHub::some_files() {
  std::map<std::string, File> files;
  for (const char* name : {"config.json", "decision_config.json", "tokenizer.json", "tokenizer_config.json",
                           "preprocessor_config.json", "README.md", "pytorch_model.bin"})
    files[name] = {.content = std::string("content of ") + name};
  files["readout.safetensors"] = {.content = std::string(3000, 'r'), .large = true};
  std::string weights;
  for (int i = 0; weights.size() < 100'000; ++i) weights += std::to_string(i * 7919) + ' ';
  weights.resize(100'000);
  files["model.safetensors"] = {.content = weights, .large = true};
  return files;
}

hub::Settings FakeHub::settings(const std::filesystem::path& directory) const {
  hub::Settings settings;
  settings.endpoint = url();
  settings.cache = directory;
  settings.token = "hf_secret";
  settings.connections = 4;
  settings.part_bytes = 16'384;
  return settings;
}

void FakeHub::misbehave(Misbehave misbehave) {
  const std::lock_guard lock(mutex_);
  misbehave_ = std::move(misbehave);
}

std::vector<HubRequest> FakeHub::requests() const {
  const std::lock_guard lock(mutex_);
  return requests_;
}

int FakeHub::count(const std::string& part_of_target) const {
  const auto all = requests();
  return static_cast<int>(std::ranges::count_if(all, [&](const HubRequest& request) {
    return request.target.find(part_of_target) != std::string::npos;
  }));
}

std::string FakeHub::etag(const File& file) {
  if (!file.large) return git_sha1(file.content);
  return checkpoint::to_hex(checkpoint::Sha256::of(std::as_bytes(std::span(file.content))));
}

LoopbackServer::Reply FakeHub::answer(const std::string& head, bool storage) {
  const HubRequest request{.storage = storage,
                           .method = head.substr(0, head.find(' ')),
                           .target = LoopbackServer::target_of(head),
                           .authorization = header_of(head, "authorization"),
                           .range = header_of(head, "range")};
  const std::lock_guard lock(mutex_);
  requests_.push_back(request);
  std::string good = good_answer(request);
  if (request.method == "HEAD") good.resize(good.find("\r\n\r\n") + 4);
  if (misbehave_)
    if (auto reply = misbehave_(request, good)) return *reply;
  return {std::move(good)};
}

std::string FakeHub::good_answer(const HubRequest& request) const {
  const std::string& target = request.target;
  if (request.storage) {
    for (const auto& [path, file] : files_)
      if (target == "/" + etag(file)) return ranged(file.content, request.range, {});
    return http_answer("403 Forbidden", "no such object");
  }
  if (target == std::string("/api/models/") + kRepo + "/revision/main?blobs=true")
    return http_answer("200 OK", listing());
  if (target.starts_with(std::string("/api/models/") + kRepo + "/revision/"))
    return http_answer("404 Not Found", "{}", "X-Error-Code: RevisionNotFound\r\n");
  if (target == "/api/whoami-v2" && request.authorization == "Bearer hf_secret")
    return http_answer("200 OK", R"({"type":"user","name":"tester"})");
  if (target == "/api/whoami-v2")
    return http_answer("401 Unauthorized", R"({"error":"Invalid credentials in Authorization header"})");
  const std::string prefix = std::string("/") + kRepo + "/resolve/" + kCommit + "/";
  if (target.starts_with(prefix)) return resolve(request, target.substr(prefix.size()));
  return http_answer("404 Not Found", "{}", "X-Error-Code: RepoNotFound\r\n");
}

std::string FakeHub::resolve(const HubRequest& request, const std::string& path) const {
  const auto found = files_.find(path);
  if (found == files_.end()) return http_answer("404 Not Found", "", "X-Error-Code: EntryNotFound\r\n");
  const File& file = found->second;
  const std::string commit = std::string("X-Repo-Commit: ") + kCommit + "\r\n";
  if (!file.large) return ranged(file.content, request.range, commit + "ETag: \"" + etag(file) + "\"\r\n");
  return http_answer("302 Found", "see there",
                     commit + "X-Linked-Etag: \"" + etag(file) +
                         "\"\r\nX-Linked-Size: " + std::to_string(file.content.size()) +
                         "\r\nLocation: " + storage_.url("/" + etag(file), "localhost") + "\r\n");
}

std::string FakeHub::listing() const {
  std::string text = std::string(R"({"id":"org/model","sha":")") + kCommit + R"(","siblings":[)";
  bool first = true;
  for (const auto& [path, file] : files_) {
    text += first ? R"({"rfilename":)" : R"(,{"rfilename":)";
    first = false;
    json::append_string(text, path);
    const std::string size = std::to_string(file.content.size());
    text += R"(,"size":)" + size + R"(,"blobId":")" + git_sha1(file.content) + '"';
    if (file.large)
      text += R"(,"lfs":{"sha256":")" + etag(file) + R"(","size":)" + size + R"(,"pointerSize":130})";
    text += '}';
  }
  return text + "]}";
}

}  // namespace d3::test
