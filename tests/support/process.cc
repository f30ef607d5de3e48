#include "support/process.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "support/file_content.h"
#include "support/http_client.h"
#include "support/temporary_directory.h"
#include "test_paths.h"

namespace d3::test {
namespace {

int exit_code(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status); }

void clear_environment() {
  ::setenv("D3", d3_binary().c_str(), 1);
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // a developer's own config file is none of a test's
  for (const char* name :
       {"D3_API_KEY", "D3_CPU_TARGET", "NO_COLOR", "HF_HOME", "HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE",
        "HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HF_TOKEN_PATH", "HF_ENDPOINT", "HF_HUB_OFFLINE",
        "TRANSFORMERS_OFFLINE", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"})
    ::unsetenv(name);
}

}  // namespace

ProcessResult run_shell(const std::string& command, const std::string& input) {
  const TemporaryDirectory directory;
  const auto file = [&](const char* name) { return (directory.path() / name).string(); };
  std::ofstream(file("in"), std::ios::binary) << input;
  const pid_t pid = ::fork();
  if (pid == 0) {
    clear_environment();
    ::dup2(::open(file("in").c_str(), O_RDONLY), 0);
    ::dup2(::open(file("out").c_str(), O_WRONLY | O_CREAT, 0600), 1);
    ::dup2(::open(file("err").c_str(), O_WRONLY | O_CREAT, 0600), 2);
    ::execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (pid < 0 || ::waitpid(pid, &status, 0) != pid) throw std::runtime_error("cannot run sh");
  return {.exit_code = exit_code(status), .out = content_of(file("out")), .err = content_of(file("err"))};
}

std::string wait_until(const std::string& condition, const std::string& pid) {
  // Not `kill -0`: a process that nobody has waited for takes signals when it has ended.
  return "until " + condition + "; do [ -e /proc/" + pid + "/exe ] || exit 9; sleep 0.05; done; ";
}

std::string answers(const std::string& url) { return "curl -s -f -o /dev/null " + url; }

uint16_t free_port() {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* generic = reinterpret_cast<sockaddr*>(&address);
  const bool bound = ::bind(fd, generic, size) == 0 && ::getsockname(fd, generic, &size) == 0;
  ::close(fd);
  if (!bound) throw std::runtime_error("no port is free");
  return ntohs(address.sin_port);
}

ServeProcess::ServeProcess(const std::vector<std::string>& arguments, uint16_t port) {
  std::string name = (std::filesystem::temp_directory_path() / "d3-serve-XXXXXX").string();
  const int error = ::mkstemp(name.data());
  error_file_ = name;
  int ends[2];
  if (error < 0 || ::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("cannot make a pipe");
  std::vector<std::string> words = {d3_binary().string(), "serve"};
  if (std::find(arguments.begin(), arguments.end(), "--unix") == arguments.end())
    words.insert(words.end(), {"--port", std::to_string(port)});
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that aborts leaves no server behind
    clear_environment();
    ::dup2(ends[1], 1);
    ::dup2(error, 2);
    ::execv(argv[0], argv.data());
    ::_exit(127);
  }
  ::close(error);
  ::close(ends[1]);
  out_ = ends[0];
  std::string line;
  for (char c = 0; ::read(out_, &c, 1) == 1 && c != '\n';) line += c;
  constexpr std::string_view kStart = "d3: listening on ";
  if (!line.starts_with(kStart)) {
    wait();
    throw std::runtime_error("d3 serve: " + errors());
  }
  url_ = line.substr(kStart.size());
  if (url_.starts_with("http")) port_ = static_cast<uint16_t>(std::stoi(url_.substr(url_.rfind(':') + 1)));
}

ServeProcess::~ServeProcess() {
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    wait();
  }
  ::close(out_);
  std::error_code ignored;
  std::filesystem::remove(error_file_, ignored);
}

void ServeProcess::wait_until_ready() const {
  HttpClient client(port_);
  while (client.get("/health").status != 200) std::this_thread::sleep_for(std::chrono::milliseconds(5));
}

void ServeProcess::signal(int number) const { ::kill(pid_, number); }

int ServeProcess::wait() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pid_ = -1;
  return exit_code(status);
}

std::string ServeProcess::errors() const { return content_of(error_file_); }

}  // namespace d3::test
