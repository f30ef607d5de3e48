#include "cli/input.h"

#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <memory>

#include <fmt/format.h>

#include "base/error.h"

namespace d3::cli {
namespace {

void check_read(std::FILE* file, const std::string& name) {
  if (std::ferror(file) != 0)
    throw Error(ErrorCode::kInvalidArgument, fmt::format("cannot read {}: {}", name, std::strerror(errno)),
                name);
}

}  // namespace

std::string read_all(std::FILE* file, const std::string& name) {
  std::string text;
  std::array<char, 1 << 16> chunk{};
  size_t got = 0;
  while ((got = std::fread(chunk.data(), 1, chunk.size(), file)) > 0) text.append(chunk.data(), got);
  check_read(file, name);
  return text;
}

File open_file(const std::string& path) {
  File file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file)
    throw Error(ErrorCode::kNotFound, fmt::format("cannot open {}: {}", path, std::strerror(errno)), path);
  return file;
}

bool read_piece(std::FILE* file, const std::string& name, std::string& piece) {
  constexpr size_t kPiece = 1 << 16;
  piece.resize(kPiece);
  piece.resize(std::fread(piece.data(), 1, piece.size(), file));
  if (piece.empty()) check_read(file, name);
  return !piece.empty();
}

std::string read_file(const std::string& path) { return read_all(open_file(path).get(), path); }

void for_each_line(std::FILE* file, const std::function<void(const std::string&)>& take) {
  char* line = nullptr;
  size_t capacity = 0;
  ssize_t length = 0;
  // getline owns and grows the buffer; it is freed whatever `take` throws.
  const auto free_line = [](char** buffer) { std::free(*buffer); };  // NOLINT(cppcoreguidelines-no-malloc)
  const std::unique_ptr<char*, decltype(free_line)> guard(&line, free_line);
  while ((length = ::getline(&line, &capacity, file)) >= 0) {
    const bool ends = length > 0 && line[length - 1] == '\n';
    take(std::string(line, static_cast<size_t>(length) - (ends ? 1 : 0)));
  }
}

}  // namespace d3::cli
