// Pulling from a hub that misbehaves: the cache is whole or can be gone on with, whatever happens.
#include <csignal>
#include <fstream>
#include <span>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "hub/cache.h"
#include "hub/pull.h"
#include "support/fake_hub.h"
#include "support/file_content.h"
#include "support/temporary_directory.h"

namespace d3::hub {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using test::content_of;
using test::cut_body;
using test::FakeHub;
using test::http_answer;
using test::HubRequest;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using Reply = std::optional<test::LoopbackServer::Reply>;

/// The weights of FakeHub::some_files().
constexpr uint64_t kWeightBytes = 100'000;

class BrokenPullTest : public testing::Test {
 protected:
  BrokenPullTest() {
    events_.pause = [this](milliseconds time) {
      const std::lock_guard lock(mutex_);
      pauses_.push_back(time);
    };
    events_.notice = [this](const std::string& line) { notices_.push_back(line); };
  }

  Settings settings() const { return hub_.settings(directory_.path()); }
  Pulled pull(const Settings& settings, const std::string& name = "org/model") {
    return hub::pull(parse_model_name(name), settings, events_);
  }
  Pulled pull() { return pull(settings()); }

  /// The error's message. It must be one line, and what is in the cache must be true.
  std::string failure(const Settings& settings, ErrorCode code, const std::string& name = "org/model") {
    try {
      pull(settings, name);
      return "(pulled)";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code) << error.what();
      const std::string message = error.what();
      EXPECT_EQ(message.find('\n'), std::string::npos);
      expect_sound();
      return message;
    }
  }
  std::string failure(ErrorCode code) { return failure(settings(), code); }

  /// No blob has a wrong content, and no ref leads to a snapshot that is not whole.
  void expect_sound() {
    const ModelCache cache(directory_.path(), "org/model");
    for (const auto& [path, file] : FakeHub::some_files()) {
      const fs::path blob = cache.blob(FakeHub::etag(file));
      if (fs::exists(blob)) {
        EXPECT_EQ(content_of(blob), file.content) << path;
      }
    }
    EXPECT_TRUE(!cache.commit_of("main") || is_whole(cache.snapshot(FakeHub::kCommit)));
  }

  /// Once the hub behaves again, one pull makes the cache whole.
  Pulled expect_recovery() {
    hub_.misbehave(nullptr);
    const Pulled pulled = pull();
    EXPECT_TRUE(is_whole(pulled.directory));
    for (const char* path : {"config.json", "tokenizer.json", "readout.safetensors", "model.safetensors"})
      EXPECT_EQ(content_of(pulled.directory / path), FakeHub::some_files().at(path).content) << path;
    for (const auto& entry : fs::directory_iterator(directory_.path() / "models--org--model/blobs"))
      EXPECT_EQ(entry.path().filename().string().find('.'), std::string::npos) << entry.path();
    return pulled;
  }

  FakeHub hub_;
  test::TemporaryDirectory directory_;
  PullEvents events_;
  std::mutex mutex_;
  std::vector<milliseconds> pauses_;
  std::vector<std::string> notices_;
};

bool is_weights(const HubRequest& request) {
  return request.target.substr(1) == FakeHub::etag(FakeHub::some_files().at("model.safetensors"));
}

TEST_F(BrokenPullTest, GoesOnAfterACutAtEveryQuarter) {
  for (const uint64_t part_bytes : {uint64_t{16'384}, kWeightBytes}) {
    for (const size_t quarter : {size_t{0}, kWeightBytes / 4, kWeightBytes / 2, 3 * kWeightBytes / 4}) {
      const test::TemporaryDirectory directory;
      int cuts = 0;
      hub_.misbehave([&](const HubRequest& request, const std::string& good) -> Reply {
        if (!is_weights(request)) return std::nullopt;
        const size_t first = request.range.empty() ? 0 : std::stoull(request.range.substr(6));
        const size_t body = good.size() - good.find("\r\n\r\n") - 4;
        if (quarter < first || quarter >= first + body || cuts > 0) return std::nullopt;
        ++cuts;
        return {{cut_body(good, quarter - first)}};
      });
      Settings settings = hub_.settings(directory.path());
      settings.part_bytes = part_bytes;
      const Pulled pulled = hub::pull(parse_model_name("org/model"), settings, events_);
      EXPECT_EQ(cuts, 1);
      EXPECT_EQ(content_of(pulled.directory / "model.safetensors"),
                FakeHub::some_files().at("model.safetensors").content);
      uint64_t bytes = 0;
      for (const auto& entry : fs::directory_iterator(directory.path() / "models--org--model/blobs"))
        bytes += entry.file_size();
      EXPECT_EQ(pulled.fetched, bytes);  // nothing came twice
    }
  }
}

TEST_F(BrokenPullTest, KeepsWhatCameWhenItGivesUp) {
  Settings settings = this->settings();
  settings.part_bytes = kWeightBytes;
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    return {{cut_body(good, request.range.empty() ? 60'000 : 0)}};
  });
  EXPECT_THAT(failure(settings, ErrorCode::kUnavailable), HasSubstr("cut the connection"));
  const size_t before = hub_.requests().size();
  expect_recovery();
  std::vector<std::string> ranges;  // of the weights; how much of other files had come is nothing to count on
  const std::vector<HubRequest> requests = hub_.requests();
  for (const HubRequest& request : std::span(requests).subspan(before))
    if (is_weights(request)) ranges.push_back(request.range);
  EXPECT_THAT(ranges, testing::ElementsAre("bytes=60000-99999"));
}

TEST_F(BrokenPullTest, WaitsLongerAfterEachFailure) {
  hub_.misbehave([](const HubRequest& request, const std::string&) -> Reply {
    if (!request.target.starts_with("/api/")) return std::nullopt;
    return {{http_answer("503 Service Unavailable", "")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnavailable), HasSubstr("answers 503"));
  EXPECT_THAT(pauses_, testing::ElementsAre(milliseconds(500), milliseconds(1000), milliseconds(2000),
                                            milliseconds(4000), milliseconds(8000)));
  expect_recovery();
}

TEST_F(BrokenPullTest, GetsOverServerErrors) {
  int failures = 0;
  hub_.misbehave([&](const HubRequest& request, const std::string&) -> Reply {
    if (!is_weights(request) || ++failures > 3) return std::nullopt;
    return {{http_answer(failures == 1 ? "500 Internal Server Error" : "502 Bad Gateway", "oh")}};
  });
  EXPECT_TRUE(is_whole(pull().directory));
}

TEST_F(BrokenPullTest, WaitsAsLongAsRetryAfterSays) {
  int answers = 0;
  hub_.misbehave([&](const HubRequest& request, const std::string&) -> Reply {
    if (!request.target.starts_with("/api/") || ++answers > 2) return std::nullopt;
    return {{http_answer("429 Too Many Requests", "", answers == 1 ? "Retry-After: 17\r\n" : "")}};
  });
  EXPECT_TRUE(is_whole(pull().directory));
  EXPECT_THAT(pauses_, testing::ElementsAre(milliseconds(17'000), milliseconds(1000)));
}

TEST_F(BrokenPullTest, DoesNotWaitForHours) {
  hub_.misbehave([](const HubRequest&, const std::string&) -> Reply {
    return {{http_answer("429 Too Many Requests", "", "Retry-After: 86400\r\n")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnavailable), HasSubstr("come back in 86400 s"));
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(BrokenPullTest, BeginsAStalledTransferAnew) {
  int stalls = 0;
  hub_.misbehave([&](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request) || stalls > 0) return std::nullopt;
    ++stalls;
    return {{good.substr(0, good.size() / 2), true}};
  });
  Settings settings = this->settings();
  settings.stall_timeout = std::chrono::seconds(1);
  EXPECT_TRUE(is_whole(pull(settings).directory));
  EXPECT_EQ(stalls, 1);
}

TEST_F(BrokenPullTest, GivesUpOnAHostThatAlwaysStalls) {
  hub_.misbehave([](const HubRequest& request, const std::string&) -> Reply {
    if (request.target.starts_with("/api/")) return {{"", true}};
    return std::nullopt;
  });
  Settings settings = this->settings();
  settings.max_tries = 2;
  settings.stall_timeout = std::chrono::seconds(1);
  EXPECT_THAT(failure(settings, ErrorCode::kUnavailable), HasSubstr("stalled"));
  expect_recovery();
}

TEST_F(BrokenPullTest, RefusesAWrongHash) {
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    std::string bad = good;
    bad.back() ^= 1;
    return {{bad}};
  });
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint),
              HasSubstr("model.safetensors of org/model came with the digest"));
  EXPECT_EQ(expect_recovery().fetched, kWeightBytes);  // nothing of the bad file was kept
}

TEST_F(BrokenPullTest, RefusesAWrongHashOfASmallFile) {
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (request.target.find("/tokenizer.json") == std::string::npos) return std::nullopt;
    std::string bad = good;
    bad.back() ^= 1;
    return {{bad}};
  });
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("tokenizer.json"));
  expect_recovery();
}

TEST_F(BrokenPullTest, FetchesAnewWhatAnEarlierRunLeftDamaged) {
  Settings settings = this->settings();
  settings.part_bytes = kWeightBytes;
  settings.max_tries = 1;
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    std::string bad = good;
    bad[bad.find("\r\n\r\n") + 10] ^= 1;
    return {{cut_body(bad, 50'000)}};
  });
  failure(settings, ErrorCode::kUnavailable);
  expect_recovery();
  EXPECT_THAT(notices_, Contains(HasSubstr("damaged")));
}

TEST_F(BrokenPullTest, RefusesAWrongSize) {
  for (const std::string& change : {std::string(), std::string("more")}) {
    hub_.misbehave([&](const HubRequest& request, const std::string&) -> Reply {
      if (!is_weights(request)) return std::nullopt;
      const std::string body = change.empty() ? "short" : std::string(kWeightBytes + 1, 'x');
      return {{http_answer("200 OK", body)}};
    });
    EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("the list of files says 100000"));
  }
  expect_recovery();
}

TEST_F(BrokenPullTest, RefusesMoreBytesThanTheRangeHas) {
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    const size_t range = good.find("Content-Range");
    std::string longer = "HTTP/1.1 206 Partial Content\r\n" + good.substr(range) + "and more";
    return {{longer}};  // without a length: the body ends with the connection
  });
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("longer"));
  expect_recovery();
}

TEST_F(BrokenPullTest, RefusesAnotherRange) {
  hub_.misbehave([](const HubRequest& request, const std::string&) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    return {{http_answer("206 Partial Content", "0123456789", "Content-Range: bytes 1-10/100000\r\n")}};
  });
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("another range"));
  expect_recovery();
}

TEST_F(BrokenPullTest, RefusesAnotherEtag) {
  hub_.misbehave([](const HubRequest& request, const std::string& good) -> Reply {
    if (request.target.find("/config.json") == std::string::npos) return std::nullopt;
    std::string bad = good;
    bad.replace(bad.find("ETag: \"") + 7, 4, "0000");
    return {{bad}};
  });
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("the list of files says"));
  expect_recovery();
}

TEST_F(BrokenPullTest, LivesWithAHostThatKnowsNoRanges) {
  hub_.misbehave([](const HubRequest& request, const std::string&) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    return {{http_answer("200 OK", FakeHub::some_files().at("model.safetensors").content)}};
  });
  EXPECT_TRUE(is_whole(pull().directory));
  expect_sound();
}

TEST_F(BrokenPullTest, SaysWhatToDoAboutAGatedModel) {
  hub_.misbehave([](const HubRequest&, const std::string&) -> Reply {
    return {{http_answer("401 Unauthorized", "", "X-Error-Code: GatedRepo\r\n")}};
  });
  Settings anonymous = settings();
  anonymous.token.reset();
  EXPECT_EQ(failure(anonymous, ErrorCode::kUnauthenticated),
            "org/model is gated: accept its terms at " + hub_.url() +
                "/org/model, then set HF_TOKEN to an access token");
  EXPECT_THAT(failure(ErrorCode::kUnauthenticated), HasSubstr("may not read it yet"));
  expect_recovery();
}

TEST_F(BrokenPullTest, SaysWhatIsNotThere) {
  EXPECT_THAT(failure(settings(), ErrorCode::kNotFound, "org/other"),
              HasSubstr("there is no model org/other"));
  EXPECT_EQ(failure(settings(), ErrorCode::kNotFound, "org/model@v7"), "org/model has no revision v7");
  // A hub asks strangers to log in for what it does not have.
  hub_.misbehave([](const HubRequest&, const std::string&) -> Reply {
    return {{http_answer("401 Unauthorized", "", "X-Error-Code: RepoNotFound\r\n")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnauthenticated), HasSubstr("or it is private"));
}

TEST_F(BrokenPullTest, FetchesNothingOfWhatIsNoDecisionModel) {
  hub_.files().erase("decision_config.json");
  EXPECT_THAT(failure(ErrorCode::kBadCheckpoint), HasSubstr("decision_config.json is missing"));
  EXPECT_EQ(hub_.requests().size(), 1U);
}

TEST_F(BrokenPullTest, AsksAgainWhenAStorageAddressHasExpired) {
  int refusals = 0;
  hub_.misbehave([&](const HubRequest& request, const std::string&) -> Reply {
    if (!is_weights(request) || ++refusals > 2) return std::nullopt;
    return {{http_answer("403 Forbidden", "expired")}};
  });
  EXPECT_TRUE(is_whole(pull().directory));
}

TEST_F(BrokenPullTest, FollowsNoEndlessRedirect) {
  hub_.misbehave([this](const HubRequest& request, const std::string&) -> Reply {
    return {{http_answer("302 Found", "", "Location: " + hub_.url() + request.target + "\r\n")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnavailable), HasSubstr("redirects too often"));
  hub_.misbehave([](const HubRequest&, const std::string&) -> Reply {
    return {{http_answer("302 Found", "", "Location: file:///etc/passwd\r\n")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnavailable), HasSubstr("not followed"));
}

TEST_F(BrokenPullTest, RefusesAnswersThatAreNoListing) {
  hub_.misbehave([](const HubRequest&, const std::string&) -> Reply {
    return {{http_answer("200 OK", "<html>log in to the network</html>")}};
  });
  EXPECT_THAT(failure(ErrorCode::kUnavailable), HasSubstr("list of files cannot be used"));
}

#if !defined(__SANITIZE_THREAD__)  // which allows no thread in a child of a process with threads

/// Runs in a child process, which ends with what `body` returns.
template <typename Body>
pid_t in_child(Body body) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  int code = 99;
  try {
    code = body();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
  ::_exit(code);
}

int exit_code_of(pid_t pid) {
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST_F(BrokenPullTest, TwoProcessesPullOnce) {
  Settings settings = this->settings();
  const auto child = [&] {
    return in_child([&] { return hub::pull(parse_model_name("org/model"), settings).fetched > 0 ? 1 : 0; });
  };
  const pid_t first = child();
  const pid_t second = child();
  EXPECT_LT(exit_code_of(first), 2);
  EXPECT_LT(exit_code_of(second), 2);
  // Every byte came once, whoever fetched it.
  EXPECT_EQ(hub_.count(FakeHub::etag(FakeHub::some_files().at("model.safetensors"))), 7);
  EXPECT_EQ(hub_.count("/tokenizer.json"), 1);
  expect_recovery();
}

TEST_F(BrokenPullTest, GoesOnAfterBeingKilled) {
  Settings settings = this->settings();
  settings.part_bytes = kWeightBytes;
  std::atomic<bool> reached = false;
  hub_.misbehave([&](const HubRequest& request, const std::string& good) -> Reply {
    if (!is_weights(request)) return std::nullopt;
    reached = true;
    return {{good.substr(0, good.find("\r\n\r\n") + 4 + 50'000), true}};
  });
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const pid_t child = in_child([&] {
    PullEvents events;
    events.progress = [&](const PullProgress& progress) {
      // All that will come has come.
      if (progress.done + 50'000 == progress.bytes) [[maybe_unused]]
        const ssize_t put = ::write(ends[1], "x", 1);
    };
    hub::pull(parse_model_name("org/model"), settings, events);
    return 0;
  });
  char byte = 0;
  ASSERT_EQ(::read(ends[0], &byte, 1), 1);
  ::kill(child, SIGKILL);
  EXPECT_EQ(exit_code_of(child), 128 + SIGKILL);
  ::close(ends[0]);
  ::close(ends[1]);
  EXPECT_TRUE(reached);
  expect_sound();
  EXPECT_EQ(expect_recovery().fetched, kWeightBytes - 50'000);
}

TEST_F(BrokenPullTest, SaysThatFilesMayNotBeSoLarge) {
  Settings settings = this->settings();
  settings.part_bytes = kWeightBytes;  // in order: the first bytes have come when the limit is reached
  const int code = exit_code_of(in_child([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{.rlim_cur = 40'000, .rlim_max = 40'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    try {
      hub::pull(parse_model_name("org/model"), settings);
    } catch (const Error& error) {
      return std::string(error.what()).find("larger than a file may be") != std::string::npos ? 7 : 8;
    }
    return 9;
  }));
  EXPECT_EQ(code, 7);
  expect_sound();
  EXPECT_LT(expect_recovery().fetched, kWeightBytes);  // what had come was kept
}

/// Gives the process a small file system of its own at the path; false where the machine does not allow it.
bool mount_small(const fs::path& path, const char* options) {
  const uid_t user = ::getuid();
  const gid_t group = ::getgid();
  if (::unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  std::ofstream("/proc/self/uid_map") << "0 " << user << " 1";
  std::ofstream("/proc/self/setgroups") << "deny";
  std::ofstream("/proc/self/gid_map") << "0 " << group << " 1";
  return ::mount("none", path.c_str(), "tmpfs", 0, options) == 0;
}

constexpr int kCannotMount = 77;

TEST_F(BrokenPullTest, SaysThatThereIsNoSpaceBeforeItBegins) {
  const int code = exit_code_of(in_child([&] {
    if (!mount_small(directory_.path(), "size=80k")) return kCannotMount;
    try {
      hub::pull(parse_model_name("org/model"), settings());
    } catch (const Error& error) {
      return std::string(error.what()).starts_with("no space for org/model: it takes 0.0 GB more") ? 7 : 8;
    }
    return 9;
  }));
  if (code == kCannotMount) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 7);
  EXPECT_EQ(hub_.count("/model.safetensors"), 0);
}

TEST_F(BrokenPullTest, GoesOnWhenThereIsSpaceAgain) {
  const fs::path cache = directory_.path() / "cache";
  const int code = exit_code_of(in_child([&] {
    if (!mount_small(directory_.path(), "size=300k")) return kCannotMount;
    PullEvents events;
    events.progress = [&](const PullProgress& progress) {
      // Another program takes what is left.
      if (progress.done > 30'000 && !fs::exists(directory_.path() / "other"))
        std::ofstream(directory_.path() / "other") << std::string(400'000, 'x');
    };
    Settings settings = hub_.settings(cache);
    try {
      hub::pull(parse_model_name("org/model"), settings, events);
      return 8;
    } catch (const Error& error) {
      if (std::string(error.what()).find("no space is left for") == std::string::npos) return 9;
    }
    fs::remove(directory_.path() / "other");
    const Pulled pulled = hub::pull(parse_model_name("org/model"), settings);
    return is_whole(pulled.directory) && pulled.fetched < kWeightBytes ? 7 : 10;
  }));
  if (code == kCannotMount) GTEST_SKIP() << "no file system may be mounted here";
  EXPECT_EQ(code, 7);
}

#endif

}  // namespace
}  // namespace d3::hub
