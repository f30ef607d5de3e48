// text/tokenizer.h: UTF-8 -> token ids, byte-level BPE exactly as the reference's tokenizer does it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/folder.h"

namespace d3::text {

/// Immutable after load and safe to use from many threads at once.
class Tokenizer {
 public:
  /// Reads tokenizer.json and tokenizer_config.json of a checkpoint. `tokenizer_class` chooses the
  /// split pattern. Throws Error(kBadCheckpoint) naming the file and what is wrong in it.
  static Tokenizer load(const Folder& folder);

  /// The same from the text of the two files.
  static Tokenizer parse(std::string_view tokenizer_json, std::string_view tokenizer_config_json);

  Tokenizer(Tokenizer&&) noexcept;
  Tokenizer& operator=(Tokenizer&&) noexcept;
  ~Tokenizer();

  /// The ids of a text; added tokens written in the text become their ids, as in the reference. Time is
  /// linear in text.size(). `utf8` must be valid UTF-8 (json/ guarantees it); throws Error(kInvalidArgument)
  /// when it is not.
  std::vector<int32_t> encode(std::string_view utf8) const;

  /// encode() that also adds to `steps` the work done, in units of a few nanoseconds: what tests of linear
  /// time look at.
  std::vector<int32_t> encode_counting(std::string_view utf8, uint64_t& steps) const;

  /// One more than the largest id.
  int32_t vocab_size() const;

 private:
  struct Impl;
  explicit Tokenizer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

/// The answer codes a tokenizer offers: A..Z, AA..ZZ kept when a code is one token alone and the same single
/// token right after the assistant turn's opening; the first 255 (fewer where the tokenizer has fewer).
struct AnswerCodes {
  std::vector<std::string> codes;
  std::vector<int32_t> token_ids;
};
AnswerCodes derive_answer_codes(const Tokenizer& tokenizer);

}  // namespace d3::text
