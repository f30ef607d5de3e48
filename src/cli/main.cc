#include <csignal>

#include "cli/app.h"

int main(int argc, char** argv) {
  d3::cli::keep_standard_streams();
  std::signal(SIGPIPE, SIG_IGN);  // a closed pipe is an error of the write to it
  std::signal(SIGXFSZ, SIG_IGN);  // as is a file that may not grow
  return d3::cli::run(argc, argv, d3::cli::process_context());
}
