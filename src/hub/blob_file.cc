#include "hub/blob_file.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <numeric>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include "base/error.h"

namespace d3::hub {
namespace {

static_assert(std::endian::native == std::endian::little);

constexpr std::array<char, 8> kMagic = {'d', '3', 'p', 'a', 'r', 't', 's', '1'};
constexpr size_t kNumber = sizeof(uint64_t);
constexpr size_t kHeader = kMagic.size() + 2 * kNumber;
constexpr uint64_t kMaxParts = 1 << 20;

uint64_t part_count(uint64_t bytes, uint64_t part_bytes) {
  return bytes / part_bytes + (bytes % part_bytes == 0 ? 0 : 1);
}

uint64_t number_at(std::span<const std::byte> text, size_t at) {
  uint64_t value = 0;
  std::memcpy(&value, text.data() + at, kNumber);
  return value;
}

void append_number(std::vector<std::byte>& text, uint64_t value) {
  const auto bytes = std::as_bytes(std::span(&value, 1));
  text.insert(text.end(), bytes.begin(), bytes.end());
}

Error bad_write(const std::filesystem::path& path, int error) {
  std::string message;
  if (error == ENOSPC || error == EDQUOT)
    message =
        fmt::format("no space is left for {}; what has come is kept, and pulling again goes on from there",
                    path.string());
  else if (error == EFBIG)
    message = fmt::format("{} would be larger than a file may be here (see `ulimit -f`)", path.string());
  else
    message = fmt::format("cannot write {}: {}", path.string(), std::strerror(error));
  return {ErrorCode::kUnavailable, message, path.string()};
}

void write_all(int fd, std::span<const std::byte> bytes, uint64_t at, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t put = ::pwrite(fd, bytes.data(), bytes.size(), static_cast<off_t>(at));
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) throw bad_write(path, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
    at += static_cast<uint64_t>(put);
  }
}

checkpoint::FileDescriptor open_for_writing(const std::filesystem::path& path) {
  checkpoint::FileDescriptor file(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (file.get() < 0) throw bad_write(path, errno);
  return file;
}

std::vector<std::byte> read_file(const std::filesystem::path& path, uint64_t limit) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t bytes = std::filesystem::file_size(path, error);
  if (!file || error || bytes > limit) return {};
  std::vector<std::byte> text(bytes);
  file.read(reinterpret_cast<char*>(text.data()), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(std::max<std::streamsize>(file.gcount(), 0)));
  return text;
}

uint64_t part_length(uint64_t bytes, uint64_t part_bytes, size_t part) {
  return std::min(part_bytes, bytes - part * part_bytes);
}

}  // namespace

std::optional<Journal> parse_journal(std::span<const std::byte> text, uint64_t bytes) {
  if (text.size() < kHeader || std::memcmp(text.data(), kMagic.data(), kMagic.size()) != 0)
    return std::nullopt;
  Journal journal{.bytes = number_at(text, kMagic.size()),
                  .part_bytes = number_at(text, kMagic.size() + kNumber),
                  .done = {}};
  if (journal.bytes != bytes || journal.part_bytes == 0) return std::nullopt;
  const uint64_t parts = part_count(bytes, journal.part_bytes);
  if (parts > kMaxParts || text.size() != kHeader + parts * kNumber) return std::nullopt;
  for (size_t part = 0; part < parts; ++part) {
    journal.done.push_back(number_at(text, kHeader + part * kNumber));
    if (journal.done.back() > part_length(bytes, journal.part_bytes, part)) return std::nullopt;
  }
  return journal;
}

std::vector<std::byte> write_journal(const Journal& journal) {
  std::vector<std::byte> text;
  for (const char c : kMagic) text.push_back(static_cast<std::byte>(c));
  append_number(text, journal.bytes);
  append_number(text, journal.part_bytes);
  for (const uint64_t done : journal.done) append_number(text, done);
  return text;
}

BlobFile::BlobFile(const std::filesystem::path& blob, uint64_t bytes, uint64_t part_bytes, bool resume)
    : blob_(blob),
      incomplete_(blob.string() + ".d3.incomplete"),
      journal_path_(blob.string() + ".d3.journal"),
      bytes_(bytes),
      part_bytes_(std::max(part_bytes, bytes / kMaxParts + 1)) {
  open(resume);
}

std::optional<Journal> BlobFile::earlier() const {
  std::error_code error;
  const uint64_t there = std::filesystem::file_size(incomplete_, error);
  if (error) return std::nullopt;
  if (std::filesystem::exists(journal_path_))
    return parse_journal(read_file(journal_path_, kHeader + kMaxParts * kNumber), bytes_);
  if (there != bytes_ || bytes_ == 0) return std::nullopt;
  // place() was stopped between its steps: all has come. (If not, the digest shows it.)
  std::vector<uint64_t> lengths(part_count(bytes_, part_bytes_), part_bytes_);
  lengths.back() = part_length(bytes_, part_bytes_, lengths.size() - 1);
  return Journal{.bytes = bytes_, .part_bytes = part_bytes_, .done = std::move(lengths)};
}

void BlobFile::open(bool resume) {
  std::optional<Journal> journal = resume ? earlier() : std::nullopt;
  if (!journal) {
    discard();
    journal = {bytes_, part_bytes_, std::vector<uint64_t>(part_count(bytes_, part_bytes_))};
  }
  file_ = open_for_writing(incomplete_);
  journal_ = open_for_writing(journal_path_);
  write_all(journal_.get(), write_journal(*journal), 0, journal_path_);
  part_bytes_ = journal->part_bytes;
  done_ = std::vector<std::atomic<uint64_t>>(journal->done.size());
  for (size_t part = 0; part < done_.size(); ++part) done_[part] = journal->done[part];
  resumed_ = done() > 0;
}

BlobFile::Part BlobFile::part(size_t index) const {
  return {.begin = index * part_bytes_,
          .length = part_length(bytes_, part_bytes_, index),
          .done = done_[index].load()};
}

uint64_t BlobFile::done() const {
  return std::accumulate(done_.begin(), done_.end(), uint64_t{0},
                         [](uint64_t sum, const auto& done) { return sum + done.load(); });
}

void BlobFile::write(size_t part, std::span<const std::byte> bytes) {
  const uint64_t done = done_[part].load();
  write_all(file_.get(), bytes, part * part_bytes_ + done, incomplete_);
  count(part, done + bytes.size());
}

void BlobFile::count(size_t part, uint64_t done) {
  done_[part] = done;
  write_all(journal_.get(), std::as_bytes(std::span(&done, 1)), kHeader + part * kNumber, journal_path_);
}

void BlobFile::restart(size_t part) { count(part, 0); }

void BlobFile::restart() {
  for (size_t part = 0; part < done_.size(); ++part) restart(part);
  resumed_ = false;
}

void BlobFile::place() {
  if (::fdatasync(file_.get()) != 0) throw bad_write(incomplete_, errno);
  ::unlink(journal_path_.c_str());  // first: once the blob has its name, nobody looks for the journal
  if (::rename(incomplete_.c_str(), blob_.c_str()) != 0) throw bad_write(blob_, errno);
}

void BlobFile::discard() {
  ::unlink(journal_path_.c_str());
  ::unlink(incomplete_.c_str());
}

}  // namespace d3::hub
