// json/number.h: what a number's text means.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "json/value.h"

namespace d3::json {

/// Whether a text is a number by RFC 8259, section 6, and nothing more.
bool is_number_text(std::string_view text);

/// Written without fraction and exponent, which is what makes Python read an int.
bool is_integer(const Number& number);

/// The value of an integer; none when it is no integer or does not fit.
std::optional<int64_t> to_int64(const Number& number);

/// The nearest double (correctly rounded; too small becomes a zero); none when it is beyond the largest
/// double.
std::optional<double> to_double(const Number& number);

/// Whether the number is zero as Python sees it: "-0", "0.00", and floats too small for a double.
bool is_zero(const Number& number);

}  // namespace d3::json
