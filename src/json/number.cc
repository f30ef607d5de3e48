#include "json/number.h"

#include <algorithm>
#include <charconv>

namespace d3::json {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

size_t skip_digits(std::string_view text, size_t at) {
  while (at < text.size() && is_digit(text[at])) ++at;
  return at;
}

/// The power of ten above a number's first non-zero digit ("12" and "1.2e1": 2, "0.05": -1). The number has a
/// non-zero digit. Exponents of any length saturate far outside of what a double or a text's length can
/// reach.
int64_t decimal_magnitude(std::string_view text) {
  constexpr int64_t kHuge = int64_t{1} << 40;
  if (text.front() == '-') text.remove_prefix(1);
  const size_t exponent_at = std::min(text.find_first_of("eE"), text.size());
  const std::string_view mantissa = text.substr(0, exponent_at);
  const size_t point = std::min(mantissa.find('.'), mantissa.size());
  const auto first = static_cast<int64_t>(mantissa.find_first_of("123456789"));
  const int64_t above = static_cast<int64_t>(point) - first;
  const int64_t magnitude = above > 0 ? above : above + 1;  // the point itself takes a place

  std::string_view digits = exponent_at < text.size() ? text.substr(exponent_at + 1) : std::string_view();
  const bool negative = !digits.empty() && digits.front() == '-';
  if (!digits.empty() && !is_digit(digits.front())) digits.remove_prefix(1);
  int64_t exponent = 0;
  for (const char digit : digits) exponent = std::min(exponent * 10 + (digit - '0'), kHuge);
  return magnitude + (negative ? -exponent : exponent);
}

}  // namespace

bool is_number_text(std::string_view text) {
  size_t at = !text.empty() && text.front() == '-' ? 1 : 0;
  const size_t whole = at;
  at = skip_digits(text, at);
  if (at == whole || (text[whole] == '0' && at > whole + 1)) return false;
  if (at < text.size() && text[at] == '.') {
    const size_t fraction = at + 1;
    at = skip_digits(text, fraction);
    if (at == fraction) return false;
  }
  if (at < text.size() && (text[at] == 'e' || text[at] == 'E')) {
    ++at;
    if (at < text.size() && (text[at] == '+' || text[at] == '-')) ++at;
    const size_t exponent = at;
    at = skip_digits(text, exponent);
    if (at == exponent) return false;
  }
  return at == text.size();
}

bool is_integer(const Number& number) { return number.text.find_first_of(".eE") == std::string::npos; }

std::optional<int64_t> to_int64(const Number& number) {
  const char* const end = number.text.data() + number.text.size();
  int64_t value = 0;
  const auto [stopped, error] = std::from_chars(number.text.data(), end, value);
  if (error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

std::optional<double> to_double(const Number& number) {
  const std::string& text = number.text;
  double value = 0.0;
  const auto [stopped, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc()) return value;
  // Out of range says neither which end nor the sign.
  if (decimal_magnitude(text) > 0) return std::nullopt;
  return text.front() == '-' ? -0.0 : 0.0;
}

bool is_zero(const Number& number) {
  const std::string_view text = number.text;
  const std::string_view mantissa = text.substr(0, text.find_first_of("eE"));
  if (mantissa.find_first_of("123456789") == std::string_view::npos) return true;
  return !is_integer(number) && to_double(number) == 0.0;
}

}  // namespace d3::json
