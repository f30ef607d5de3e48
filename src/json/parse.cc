#include "json/parse.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/error.h"
#include "json/number.h"
#include "json/repeated_keys.h"

namespace d3::json {
namespace {

namespace ondemand = simdjson::ondemand;

[[noreturn]] void fail(std::string_view reason, std::optional<size_t> byte = std::nullopt) {
  throw Error(ErrorCode::kInvalidArgument, byte ? fmt::format("invalid JSON at byte {}: {}", *byte, reason)
                                                : fmt::format("invalid JSON: {}", reason));
}

std::string_view reason_of(simdjson::error_code error) {
  switch (error) {
    case simdjson::EMPTY:
      return "the text is empty";
    case simdjson::CAPACITY:
      return "the text is over 4 GiB";
    case simdjson::UTF8_ERROR:
      return "the text is not valid UTF-8";
    case simdjson::UNCLOSED_STRING:
      return "a string is not closed";
    case simdjson::UNESCAPED_CHARS:
      return "a control character stands unescaped in a string";
    case simdjson::STRING_ERROR:
      return "a string has an escape that is invalid or half of a surrogate pair";
    case simdjson::INCOMPLETE_ARRAY_OR_OBJECT:
      return "an array or object is not closed";
    case simdjson::TAPE_ERROR:
      return "a comma, colon, bracket, key or value is missing or out of place";
    default:
      return simdjson::error_message(error);
  }
}

/// Where the string faults are that simdjson finds without saying where: the first control character inside a
/// string, else the opening quote of the string that the text ends in.
std::optional<size_t> find_string_fault(std::string_view text) {
  std::optional<size_t> opened;
  for (size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      opened = opened ? std::nullopt : std::optional(at);
    } else if (opened && text[at] == '\\') {
      ++at;
    } else if (opened && static_cast<unsigned char>(text[at]) < 0x20) {
      return at;
    }
  }
  return opened;
}

constexpr bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

/// Walks one document with simdjson's On-Demand API, whose raw tokens keep numbers as they were written.
class Walker {
 public:
  Walker(std::string_view text, int max_depth) : padded_(text), max_depth_(max_depth) {}

  Value walk() {
    check(parser_.iterate(padded_).get(document_));
    const std::string_view text = trimmed(padded_);
    if (text.empty()) fail(reason_of(simdjson::EMPTY));
    if (text.front() == '[' || text.front() == '{') {
      ondemand::value root;
      check(document_.get_value().get(root));
      Value value = any(root, 0);
      check_end();
      return value;
    }
    // simdjson reads a scalar that is the whole document by rules of its own; here the text is the token.
    if (text.front() == '"') {
      std::string_view content;
      check(document_.get_string().get(content));
      check_end();
      return Value(std::string(content));
    }
    return scalar(text);
  }

 private:
  Value any(ondemand::value& source, int depth) {
    const std::string_view token = source.raw_json_token();
    if (++values_ > kMaxValues) fail(fmt::format("there are over {} values", kMaxValues), offset(token));
    switch (token.front()) {
      case '{':
      case '[':
        if (depth == max_depth_)
          fail(fmt::format("arrays and objects nest deeper than {}", max_depth_), offset(token));
        return token.front() == '{' ? Value(object(source, depth + 1)) : Value(array(source, depth + 1));
      case '"': {
        std::string_view content;
        check(source.get_string().get(content), offset(token));
        return Value(std::string(content));
      }
      default:
        return scalar(trimmed(token));
    }
  }

  Array array(ondemand::value& source, int depth) {
    ondemand::array elements;
    check(source.get_array().get(elements));
    Array array;
    for (auto element : elements) {
      ondemand::value value;
      check(element.get(value));
      array.push_back(any(value, depth));
    }
    return array;
  }

  Object object(ondemand::value& source, int depth) {
    ondemand::object fields;
    check(source.get_object().get(fields));
    Object object;
    for (auto element : fields) {
      ondemand::field field;
      check(std::move(element).get(field));
      std::string_view key;
      check(field.unescaped_key().get(key));
      Member& member = object.emplace_back();
      member.key = key;
      member.value = any(field.value(), depth);
    }
    merge_repeated_keys(object);
    return object;
  }

  /// The value of a token that is neither string nor container.
  Value scalar(std::string_view token) const {
    if (token == "null") return Value();
    if (token == "true") return Value(true);
    if (token == "false") return Value(false);
    if (!is_number_text(token)) fail("a value is missing or misspelt", offset(token));
    Number number{std::string(token)};
    // An exponent, or more digits than the largest double has, is what it takes to be beyond it.
    constexpr size_t kLargestDigits = 309;
    const bool may_overflow =
        token.size() >= kLargestDigits || token.find_first_of("eE") != std::string_view::npos;
    if (may_overflow && !is_integer(number) && !to_double(number))
      fail("a number is beyond the range of a double", offset(token));
    return Value(std::move(number));
  }

  size_t offset(std::string_view token) const { return static_cast<size_t>(token.data() - padded_.data()); }

  void check_end() {
    if (const std::optional<size_t> byte = location()) fail("something follows the value", byte);
  }

  /// Where simdjson stands, which is at or just after what it found wrong; none at the text's end.
  std::optional<size_t> location() {
    const char* at = nullptr;
    if (document_.current_location().get(at) != simdjson::SUCCESS) return std::nullopt;
    return std::min(static_cast<size_t>(at - padded_.data()), padded_.size());
  }

  void check(simdjson::error_code error, std::optional<size_t> byte = std::nullopt) {
    if (error == simdjson::SUCCESS) return;
    if (error == simdjson::UNCLOSED_STRING || error == simdjson::UNESCAPED_CHARS)
      byte = find_string_fault(padded_);
    else if (error == simdjson::TAPE_ERROR || error == simdjson::INCOMPLETE_ARRAY_OR_OBJECT)
      byte = location();
    fail(reason_of(error), byte);
  }

  ondemand::parser parser_;
  simdjson::padded_string padded_;
  ondemand::document document_;
  int max_depth_;
  size_t values_ = 0;
};

}  // namespace

Value parse(std::string_view text, int max_depth) { return Walker(text, max_depth).walk(); }

}  // namespace d3::json
