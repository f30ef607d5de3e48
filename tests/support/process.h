// tests/support/process.h: runs programs, most of all the built d3.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <sys/types.h>

namespace d3::test {

struct ProcessResult {
  int exit_code = -1;  ///< 128 + signal when a signal ended it
  std::string out;
  std::string err;
};

/// Runs a command line with sh (so that tests can redirect and pipe) and waits. `$D3` is the built program.
/// The environment has none of the variables that d3 and Hugging Face's client read.
ProcessResult run_shell(const std::string& command, const std::string& input = {});

/// A part of a command line of sh: waits until the condition holds, another of its commands, and ends the
/// shell with 9 when the process does not run any more. `pid` may be `$!`.
std::string wait_until(const std::string& condition, const std::string& pid);
/// The condition that GET URL is answered with 200.
std::string answers(const std::string& url);

/// A port that nothing listens on.
uint16_t free_port();

/// `d3 serve` on a free port (or the one given), killed on destruction unless it has ended.
class ServeProcess {
 public:
  /// Waits until it listens. Throws std::runtime_error with its error output when it does not.
  explicit ServeProcess(const std::vector<std::string>& arguments, uint16_t port = 0);
  ~ServeProcess();
  ServeProcess(const ServeProcess&) = delete;
  ServeProcess& operator=(const ServeProcess&) = delete;

  uint16_t port() const { return port_; }
  /// As it printed it.
  const std::string& url() const { return url_; }
  pid_t pid() const { return pid_; }
  /// Waits until the model is loaded.
  void wait_until_ready() const;
  void signal(int number) const;
  /// Waits for the end; the exit code as in ProcessResult.
  int wait();
  /// What it has written to standard error, once it has ended.
  std::string errors() const;

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  uint16_t port_ = 0;
  std::string url_;
  std::string error_file_;
};

}  // namespace d3::test
