// checkpoint/fields.h: a JSON object of a checkpoint's file read key by key; every complaint is one line that
// names the file and the key and shows what was found.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "json/value.h"

namespace d3::checkpoint {

/// The text of a file as JSON whose root is an object. Throws Error(kBadCheckpoint).
json::Value parse_object(std::string_view text, const std::filesystem::path& file);

/// Borrows the object and the file's path. A key whose value is null counts as absent. Readers without a
/// fallback demand the key; all throw Error(kBadCheckpoint).
class Fields {
 public:
  /// `path` is the object's own place, "" for the root.
  Fields(const json::Value& object, const std::filesystem::path& file, std::string path = {})
      : object_(&object), file_(&file), path_(std::move(path)) {}

  const json::Value* find(std::string_view key) const;
  const json::Value& at(std::string_view key) const;

  int integer(std::string_view key, int min, int max) const;
  int integer_or(std::string_view key, int fallback, int min, int max) const;
  double number(std::string_view key) const;
  double number_or(std::string_view key, double fallback) const;
  const std::string& text(std::string_view key) const;
  std::string text_or(std::string_view key, std::string_view fallback) const;
  bool boolean_or(std::string_view key, bool fallback) const;
  const json::Array& array(std::string_view key) const;
  std::vector<int> integers(std::string_view key, int min, int max) const;
  Fields object(std::string_view key) const;
  std::optional<Fields> object_if_present(std::string_view key) const;

  /// Error(kBadCheckpoint) "FILE: path.key MESSAGE", its field the key's path.
  Error error(std::string_view key, const std::string& message) const;
  /// Error(kBadCheckpoint) "FILE: path.key is VALUE; expected EXPECTED".
  Error unexpected(std::string_view key, std::string_view expected) const;
  /// Error(kUnsupported) "FILE: path.key is VALUE, which is unsupported; supported: SUPPORTED".
  Error unsupported(std::string_view key, std::string_view supported) const;

  std::string path_of(std::string_view key) const;

 private:
  const json::Value* object_;
  const std::filesystem::path* file_;
  std::string path_;
};

}  // namespace d3::checkpoint
