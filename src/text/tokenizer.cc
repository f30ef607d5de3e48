#include "text/tokenizer.h"

#include <algorithm>
#include <optional>
#include <variant>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.h"
#include "text/added_tokens.h"
#include "text/bpe.h"
#include "text/code_points.h"
#include "text/nfc.h"
#include "text/qwen_split.h"
#include "text/split_pattern.h"
#include "text/tokenizer_files.h"

namespace d3::text {
namespace {

constexpr uintmax_t kMaxFileBytes = uintmax_t{256} << 20;

[[noreturn]] void refuse_file(const std::string& name, const std::string& why) {
  throw Error(ErrorCode::kBadCheckpoint, fmt::format("{}: {}", name, why), name);
}

simdjson::padded_string read_file(const Folder& folder, const std::string& name) {
  if (folder.embedded()) {
    const auto bytes = folder.find(name);
    if (!bytes) refuse_file(name, std::make_error_code(std::errc::no_such_file_or_directory).message());
    return simdjson::padded_string(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  const std::filesystem::path path = folder.path() / name;
  std::error_code error;
  const uintmax_t size = std::filesystem::file_size(path, error);
  if (error) refuse_file(name, error.message());
  if (size > kMaxFileBytes)
    refuse_file(name, fmt::format("{} bytes; at most {} are read", size, kMaxFileBytes));
  simdjson::padded_string text;
  if (simdjson::padded_string::load(path.string()).get(text)) refuse_file(name, "cannot be read");
  return text;
}

// The tokens that are looked for before normalisation, or after it, in the form they are looked for in.
AddedTokenMatcher matcher(const TokenizerDescription& from, bool normalized, const Nfc& nfc) {
  std::vector<AddedToken> tokens;
  std::string storage;
  for (AddedToken token : from.added_tokens) {
    if (token.normalized != normalized) continue;
    if (normalized && from.nfc) token.content = std::string(nfc.normalize(token.content, storage));
    tokens.push_back(std::move(token));
  }
  return {std::move(tokens), from.split_special_tokens};
}

}  // namespace

// The way of a text: raw added tokens are cut out, what is left is normalised, normalised added tokens are
// cut out, the rest is split step by step into words, and each word is encoded.
struct Tokenizer::Impl {
  struct Step {
    bool prefix_space;
    std::variant<std::monostate, QwenSplit, SplitPattern> pattern;
  };

  explicit Impl(const TokenizerDescription& from)
      : nfc(code_points),
        normalizes(from.nfc),
        raw_tokens(matcher(from, false, nfc)),
        normalized_tokens(matcher(from, true, nfc)),
        bpe(from.model) {
    for (const SplitStep& step : from.steps) steps.push_back(make_step(step));
    id_count = bpe.id_count();
    for (const AddedToken& token : from.added_tokens) id_count = std::max(id_count, token.id + 1);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Step make_step(const SplitStep& step) const {
    if (step.pattern.empty()) return {step.prefix_space, std::monostate()};
    if (step.pattern == kQwen2Pattern) return {step.prefix_space, QwenSplit(QwenSplit::Marks::kApart)};
    if (step.pattern == kQwen35Pattern) return {step.prefix_space, QwenSplit(QwenSplit::Marks::kInWords)};
    return {step.prefix_space, SplitPattern(step.pattern, code_points)};
  }

  // What one call writes to.
  struct Run {
    std::vector<int32_t> ids;
    uint64_t work = 0;
  };

  void encode_text(std::string_view text, Run& run) const {
    raw_tokens.cut(
        text, [&](std::string_view piece) { encode_raw(piece, run); },
        [&](int32_t id) { run.ids.push_back(id); }, run.work);
  }

  void encode_raw(std::string_view text, Run& run) const {
    std::string storage;
    if (normalizes) {
      run.work += text.size();
      text = nfc.normalize(text, storage);
    }
    normalized_tokens.cut(
        text, [&](std::string_view piece) { encode_piece(piece, 0, run); },
        [&](int32_t id) { run.ids.push_back(id); }, run.work);
  }

  // Cuts a piece by the steps from `first` on and encodes the words.
  void encode_piece(std::string_view piece, size_t first, Run& run) const {
    if (first == steps.size()) return bpe.encode(piece, run.ids, run.work);
    const Step& step = steps[first];
    std::string prefixed;
    if (step.prefix_space && !piece.starts_with(' ')) {
      prefixed.append(" ").append(piece);
      piece = prefixed;
    }
    run.work += piece.size();
    if (const auto* qwen = std::get_if<QwenSplit>(&step.pattern)) {
      for (size_t at = 0, end = 0; at < piece.size(); at = end) {
        end = qwen->next(code_points, piece, at);
        encode_piece(piece.substr(at, end - at), first + 1, run);
      }
    } else if (const auto* pattern = std::get_if<SplitPattern>(&step.pattern)) {
      for (size_t at = 0, end = 0; at < piece.size(); at = end) {
        end = pattern->next(piece, at);
        encode_piece(piece.substr(at, end - at), first + 1, run);
      }
    } else {
      encode_piece(piece, first + 1, run);
    }
  }

  CodePoints code_points;
  Nfc nfc;
  bool normalizes;
  AddedTokenMatcher raw_tokens, normalized_tokens;
  Bpe bpe;
  std::vector<Step> steps;
  int32_t id_count = 0;
};

Tokenizer::Tokenizer(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Tokenizer::Tokenizer(Tokenizer&&) noexcept = default;
Tokenizer& Tokenizer::operator=(Tokenizer&&) noexcept = default;
Tokenizer::~Tokenizer() = default;

Tokenizer Tokenizer::load(const Folder& folder) {
  try {
    const simdjson::padded_string tokenizer_json = read_file(folder, "tokenizer.json");
    const simdjson::padded_string config_json = read_file(folder, "tokenizer_config.json");
    return Tokenizer(std::make_unique<Impl>(describe_tokenizer(tokenizer_json, config_json)));
  } catch (const Error& error) {  // names the file; say where it is
    throw Error(error.code(), (folder.path() / "").string() + error.what(), error.field());
  }
}

Tokenizer Tokenizer::parse(std::string_view tokenizer_json, std::string_view tokenizer_config_json) {
  return Tokenizer(std::make_unique<Impl>(describe_tokenizer(
      simdjson::padded_string(tokenizer_json), simdjson::padded_string(tokenizer_config_json))));
}

std::vector<int32_t> Tokenizer::encode(std::string_view utf8) const {
  uint64_t steps = 0;
  return encode_counting(utf8, steps);
}

std::vector<int32_t> Tokenizer::encode_counting(std::string_view utf8, uint64_t& steps) const {
  if (!simdjson::validate_utf8(utf8)) throw Error(ErrorCode::kInvalidArgument, "the text is not valid UTF-8");
  Impl::Run run;
  run.ids.reserve(utf8.size() / 3 + 1);
  run.work = utf8.size();
  impl_->encode_text(utf8, run);
  steps += run.work;
  return std::move(run.ids);
}

int32_t Tokenizer::vocab_size() const { return impl_->id_count; }

}  // namespace d3::text
