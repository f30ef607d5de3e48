// cli/context.h: what a command knows of the world around it. Read once, in main; nothing below reads the
// environment.
#pragma once

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "hub/settings.h"

namespace d3::cli {

/// A place to print to.
struct Output {
  std::FILE* file = nullptr;
  bool terminal = false;
  bool colour = false;   ///< a terminal, and NO_COLOR is not set
  bool unicode = false;  ///< the locale's encoding is UTF-8
  int columns = 80;      ///< of the terminal

  void print(std::string_view text) const;
  void flush() const;
};

struct Context {
  Output out;  ///< answers
  Output err;  ///< progress, log and errors
  std::FILE* in = nullptr;
  bool in_is_terminal = false;
  std::map<std::string, std::string> variables;     ///< D3_..; none is empty
  std::vector<std::filesystem::path> config_files;  ///< that may be there, the one that counts more first
  std::string cpu_target;                           ///< D3_CPU_TARGET, empty when not set
  hub::Settings hub;                                ///< as Hugging Face's client reads its environment
};

/// The process's own streams and environment.
Context process_context();

/// Opens /dev/null for each of standard input, output and error that the process was started without: the
/// next file or socket would otherwise take its number, and what is printed would go there.
void keep_standard_streams();

}  // namespace d3::cli
