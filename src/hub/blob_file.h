// hub/blob_file.h: a file that is being downloaded in parts, and what is known of it after a stop.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "checkpoint/file.h"

namespace d3::hub {

/// How much of each part has come: the text of a journal file. Little-endian 64-bit numbers after the magic:
/// the file's size, the parts' size, then each part's count.
struct Journal {
  uint64_t bytes = 0;
  uint64_t part_bytes = 0;
  std::vector<uint64_t> done;

  bool operator==(const Journal&) const = default;
};

/// Parses a journal of a file of `bytes`; none when it is of another file or not one that was written here.
std::optional<Journal> parse_journal(std::span<const std::byte> text, uint64_t bytes);
std::vector<std::byte> write_journal(const Journal& journal);

/// Beside a blob at PATH: PATH.d3.incomplete holds the bytes, at their places, and PATH.d3.journal what has
/// come. (Not PATH.incomplete: older huggingface_hub appends to that.) A count is written after its bytes, so
/// that a process that is killed has lost nothing that it counts; after a power cut the digest tells.
///
/// Parts may be written by different threads at once, each part by one.
class BlobFile {
 public:
  struct Part {
    uint64_t begin = 0;
    uint64_t length = 0;
    uint64_t done = 0;  ///< bytes from `begin` on that have come
  };

  /// Goes on with what an earlier process left, unless `resume` is false. Throws Error(kUnavailable) naming
  /// the file: no space, no permission.
  BlobFile(const std::filesystem::path& blob, uint64_t bytes, uint64_t part_bytes, bool resume);

  size_t parts() const { return done_.size(); }
  Part part(size_t index) const;
  uint64_t done() const;  ///< of all parts
  bool resumed() const { return resumed_; }

  /// The next bytes of a part; they must fit it.
  void write(size_t part, std::span<const std::byte> bytes);

  /// Drops a part's bytes, or all: they are to come again.
  void restart(size_t part);
  void restart();

  /// The bytes so far, to be read.
  const std::filesystem::path& path() const { return incomplete_; }

  /// Puts the whole file at the blob's place, at once and for good.
  void place();
  /// Removes both files.
  void discard();

 private:
  /// What an earlier process left that can be gone on with.
  std::optional<Journal> earlier() const;
  void open(bool resume);
  void count(size_t part, uint64_t done);

  std::filesystem::path blob_;
  std::filesystem::path incomplete_;
  std::filesystem::path journal_path_;
  uint64_t bytes_;
  uint64_t part_bytes_;
  bool resumed_ = false;
  checkpoint::FileDescriptor file_{-1};
  checkpoint::FileDescriptor journal_{-1};
  std::vector<std::atomic<uint64_t>> done_;
};

}  // namespace d3::hub
