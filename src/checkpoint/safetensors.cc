#include "checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <unordered_set>

#include <fmt/format.h>
#include <simdjson.h>

#include "checkpoint/messages.h"

namespace d3::checkpoint {
namespace {

namespace dom = simdjson::dom;

constexpr uint64_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxDimensions = 16;

struct ElementType {
  std::string_view name;
  uint64_t bytes;
};
constexpr std::array<ElementType, 15> kElementTypes = {{{"BOOL", 1},
                                                        {"U8", 1},
                                                        {"I8", 1},
                                                        {"F8_E5M2", 1},
                                                        {"F8_E4M3", 1},
                                                        {"I16", 2},
                                                        {"U16", 2},
                                                        {"F16", 2},
                                                        {"BF16", 2},
                                                        {"I32", 4},
                                                        {"U32", 4},
                                                        {"F32", 4},
                                                        {"I64", 8},
                                                        {"U64", 8},
                                                        {"F64", 8}}};

std::optional<uint64_t> element_bytes(std::string_view dtype) {
  for (const ElementType& type : kElementTypes)
    if (type.name == dtype) return type.bytes;
  return std::nullopt;
}

uint64_t read_little_endian(std::span<const std::byte> bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) value |= std::to_integer<uint64_t>(bytes[i]) << (8 * i);
  return value;
}

/// The header's JSON text.
std::string_view header_text(std::span<const std::byte> file, const std::filesystem::path& path) {
  if (file.size() < kLengthBytes)
    throw bad_file(path, fmt::format("is truncated: {} bytes hold no header", file.size()));
  const uint64_t length = read_little_endian(file);
  if (length > kMaxHeaderBytes)
    throw bad_file(path,
                   fmt::format("has a header of {} bytes; at most {} are allowed", length, kMaxHeaderBytes));
  if (length > file.size() - kLengthBytes)
    throw bad_file(path,
                   fmt::format("is truncated: its header has {} bytes, the file {}", length, file.size()));
  const auto header = file.subspan(kLengthBytes, length);
  return {reinterpret_cast<const char*>(header.data()), header.size()};
}

/// Reads the entries of one header; keeps what its errors name.
class HeaderReader {
 public:
  /// `data_at`: where the tensors' bytes begin in the file.
  HeaderReader(const std::filesystem::path& path, uint64_t data_at) : path_(path), data_at_(data_at) {}

  std::vector<TensorEntry> read(std::string_view text) {
    dom::element root;
    const simdjson::error_code code = parser_.parse(text.data(), text.size()).get(root);
    if (code)
      throw bad_file(path_, fmt::format("has an unreadable header: {}", simdjson::error_message(code)));
    dom::object tensors;
    if (root.get(tensors)) throw bad_file(path_, "has a header that is not a JSON object");
    std::vector<TensorEntry> entries;
    for (const auto& [name, value] : tensors) {
      if (!names_.insert(std::string(name)).second) throw error(name, "is there twice");
      if (name == "__metadata__")
        check_metadata(value);
      else
        entries.push_back(read_entry(name, value));
    }
    return entries;
  }

 private:
  Error error(std::string_view tensor, const std::string& message) const {
    return bad_tensor(path_, tensor, message);
  }

  void check_metadata(const dom::element& value) const {
    dom::object members;
    if (value.get(members)) throw bad_file(path_, "has a __metadata__ that is not an object");
    for (const auto& [key, text] : members)
      if (!text.is_string())
        throw bad_file(path_, fmt::format("__metadata__ {} is not a string", in_quotes(key)));
  }

  TensorEntry read_entry(std::string_view name, const dom::element& value) const {
    dom::object members;
    if (value.get(members) || members.size() != 3)
      throw error(name, "is not described by an object of dtype, shape and data_offsets");
    TensorEntry entry;
    entry.name = name;
    std::string_view dtype;
    if (members["dtype"].get(dtype)) throw error(name, "has no dtype, or one that is not a string");
    entry.dtype = dtype;
    const std::optional<uint64_t> bytes_each = element_bytes(dtype);
    if (!bytes_each) throw error(name, fmt::format("has an unknown dtype, {}", in_quotes(dtype)));
    entry.shape = read_shape(name, members);
    read_offsets(entry, members);

    const std::optional<uint64_t> bytes = byte_count(entry.shape, *bytes_each);
    if (!bytes) throw error(name, fmt::format("has a shape too large to exist, {}", shape_text(entry.shape)));
    if (entry.end - entry.begin != *bytes)
      throw error(name, fmt::format("has {} bytes by its data_offsets; {} {} needs {}",
                                    entry.end - entry.begin, entry.dtype, shape_text(entry.shape), *bytes));
    if (entry.begin % *bytes_each != 0)
      throw error(name, fmt::format("is misaligned: it begins at byte {}, not a multiple of {}", entry.begin,
                                    *bytes_each));
    return entry;
  }

  std::vector<int64_t> read_shape(std::string_view name, const dom::object& members) const {
    dom::array sizes;
    if (members["shape"].get(sizes)) throw error(name, "has no shape, or one that is not an array");
    if (sizes.size() > kMaxDimensions)
      throw error(name, fmt::format("has a shape of more than {} sizes", kMaxDimensions));
    std::vector<int64_t> shape;
    for (const dom::element item : sizes) {
      int64_t size = 0;
      if (item.get(size) || size < 0)
        throw error(name,
                    fmt::format("has a shape whose size {} is not a whole number of int64", shape.size()));
      shape.push_back(size);
    }
    return shape;
  }

  /// Fills begin and end from data_offsets.
  void read_offsets(TensorEntry& entry, const dom::object& members) const {
    dom::array offsets;
    std::array<uint64_t, 2> numbers{};
    bool valid = !members["data_offsets"].get(offsets) && offsets.size() == 2;
    for (size_t i = 0; valid && i < 2; ++i) valid = !offsets.at(i).get(numbers[i]);
    // An offset beyond int64 is beyond any file; keeping it out keeps the sums below from overflowing.
    valid = valid && numbers[0] <= numbers[1] && numbers[1] <= uint64_t{INT64_MAX};
    if (!valid)
      throw error(entry.name, "has no data_offsets [begin, end] of whole numbers with begin <= end");
    entry.begin = data_at_ + numbers[0];
    entry.end = data_at_ + numbers[1];
  }

  static std::optional<uint64_t> byte_count(const std::vector<int64_t>& shape, uint64_t bytes_each) {
    uint64_t bytes = bytes_each;
    // The format's own reader multiplies in order, so an overflow before a later 0 counts too.
    for (const int64_t size : shape)
      if (__builtin_mul_overflow(bytes, static_cast<uint64_t>(size), &bytes)) return std::nullopt;
    return bytes;
  }

  dom::parser parser_;
  const std::filesystem::path& path_;
  uint64_t data_at_;
  std::unordered_set<std::string> names_;
};

/// The entries, ordered by their bytes, must fill [data_at, file_size).
void check_layout(const std::vector<TensorEntry>& entries, uint64_t data_at, uint64_t file_size,
                  const std::filesystem::path& path) {
  uint64_t at = data_at;
  for (const TensorEntry& entry : entries) {
    if (entry.begin < at)
      throw bad_tensor(path, entry.name,
                       fmt::format("overlaps the tensor before it: it begins at byte {}, that ends at {}",
                                   entry.begin, at));
    if (entry.begin > at)
      throw bad_tensor(
          path, entry.name,
          fmt::format("leaves a hole before it: it begins at byte {}, expected {}", entry.begin, at));
    if (entry.end > file_size)
      throw bad_tensor(path, entry.name,
                       fmt::format("ends at byte {}, but the file has {}: it is truncated or damaged",
                                   entry.end, file_size));
    at = entry.end;
  }
  if (at != file_size)
    throw bad_file(path, fmt::format("has {} bytes; its tensors end at byte {}", file_size, at));
}

}  // namespace

std::vector<TensorEntry> read_safetensors_header(std::span<const std::byte> file,
                                                 const std::filesystem::path& path) {
  const std::string_view text = header_text(file, path);
  const uint64_t data_at = kLengthBytes + text.size();
  HeaderReader reader(path, data_at);
  std::vector<TensorEntry> entries = reader.read(text);
  std::sort(entries.begin(), entries.end(), [](const TensorEntry& a, const TensorEntry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  check_layout(entries, data_at, file.size(), path);
  return entries;
}

std::string shape_text(std::span<const int64_t> shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

}  // namespace d3::checkpoint
