#include "api/multipart.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "base/ascii.h"
#include "decision/refuse.h"

namespace d3::api {
namespace {

using decision::shown;

constexpr std::string_view kLineEnd = "\r\n";

[[noreturn]] void refuse_form(std::string_view reason) {
  decision::refuse("", fmt::format("invalid multipart/form-data: {}", reason));
}

/// The header value before its parameters.
std::string_view main_value(std::string_view header) { return trimmed(header.substr(0, header.find(';'))); }

/// Takes a parameter's value, a token or a quoted string, from the front of `rest`; what follows it up to the
/// next semicolon must be blank. None where the text is neither.
std::optional<std::string> take_value(std::string_view& rest) {
  std::string value;
  rest = trimmed(rest);
  if (rest.empty() || rest.front() != '"') {
    const size_t end = std::min(rest.find(';'), rest.size());
    value = trimmed(rest.substr(0, end));
    rest.remove_prefix(end);
    return value;
  }
  size_t at = 1;
  for (; at < rest.size() && rest[at] != '"'; ++at) {
    if (rest[at] == '\\' && ++at == rest.size()) break;
    value += rest[at];
  }
  if (at >= rest.size()) return std::nullopt;
  rest = trimmed(rest.substr(at + 1));
  if (!rest.empty() && rest.front() != ';') return std::nullopt;
  return value;
}

/// The value of a header's parameter; none where it is absent or the header is malformed before it.
std::optional<std::string> parameter(std::string_view header, std::string_view name) {
  std::string_view rest = header.substr(std::min(header.find(';'), header.size()));
  while (!rest.empty()) {
    rest.remove_prefix(1);
    const size_t equals = rest.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    const std::string_view found = trimmed(rest.substr(0, equals));
    rest.remove_prefix(equals + 1);
    std::optional<std::string> value = take_value(rest);
    if (!value || equals_ignoring_case(found, name)) return value;
  }
  return std::nullopt;
}

bool is_boundary_character(char c) {
  return (c >= '0' && c <= '9') || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') ||
         std::string_view("'()+_,-./:=? ").find(c) != std::string_view::npos;
}

std::string boundary_of(std::string_view content_type) {
  const std::optional<std::string> boundary = parameter(content_type, "boundary");
  if (!boundary) refuse_form("content-type names no boundary");
  if (boundary->empty() || boundary->size() > 70 || boundary->back() == ' ' ||
      !std::ranges::all_of(*boundary, is_boundary_character))
    refuse_form("the boundary is not 1 to 70 of the characters that a boundary may have");
  return *boundary;
}

/// A line `--boundary` or, closing, `--boundary--`.
struct Delimiter {
  size_t begin = 0;  ///< the first byte of the line end before it, which belongs to it, or of itself
  size_t end = 0;    ///< past its own line end
  bool closing = false;
};

/// The delimiter whose `--boundary` stands at `at`, with the line end before it counted from `begin`; none
/// where something else follows on the line.
std::optional<Delimiter> delimiter_at(std::string_view body, size_t begin, size_t after) {
  Delimiter delimiter{.begin = begin, .end = after};
  if (body.substr(after, 2) == "--") {
    delimiter.closing = true;
    delimiter.end += 2;
  }
  while (delimiter.end < body.size() && (body[delimiter.end] == ' ' || body[delimiter.end] == '\t'))
    ++delimiter.end;
  if (body.substr(delimiter.end, 2) == kLineEnd)
    delimiter.end += 2;
  else if (!delimiter.closing || delimiter.end != body.size())
    return std::nullopt;
  return delimiter;
}

/// The first delimiter at or after `from`, which is the beginning of a line.
std::optional<Delimiter> find_delimiter(std::string_view body, size_t from, const std::string& dashes) {
  if (body.substr(from).starts_with(dashes))
    if (const auto found = delimiter_at(body, from, from + dashes.size())) return found;
  const std::string line = std::string(kLineEnd) + dashes;
  for (size_t at = body.find(line, from); at != std::string_view::npos; at = body.find(line, at + 1))
    if (const auto found = delimiter_at(body, at, at + line.size())) return found;
  return std::nullopt;
}

void read_header(std::string_view line, size_t number, Part& part) {
  const size_t colon = line.find(':');
  if (colon == std::string_view::npos || colon == 0)
    refuse_form(fmt::format("part {} has a header line without a name and a colon", number));
  const std::string_view name = line.substr(0, colon);
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (equals_ignoring_case(name, "content-type")) part.content_type = value;
  if (equals_ignoring_case(name, "content-transfer-encoding") && !equals_ignoring_case(value, "binary") &&
      !equals_ignoring_case(value, "8bit") && !equals_ignoring_case(value, "7bit"))
    refuse_form(fmt::format("part {} has content-transfer-encoding `{}`; send its bytes as they are", number,
                            shown(value)));
  if (!equals_ignoring_case(name, "content-disposition")) return;
  if (!equals_ignoring_case(main_value(value), "form-data"))
    refuse_form(fmt::format("content-disposition of part {} is not form-data", number));
  part.name = parameter(value, "name").value_or("");
}

/// The part between two delimiters: header lines, an empty line, content.
Part read_part(std::string_view text, size_t number) {
  Part part;
  std::string_view rest = text;
  while (!rest.starts_with(kLineEnd)) {
    const size_t end = rest.substr(0, kMaxPartHeaderBytes).find(kLineEnd);
    if (end == std::string_view::npos)
      refuse_form(fmt::format("the headers of part {} do not end in an empty line within {} bytes", number,
                              kMaxPartHeaderBytes));
    read_header(rest.substr(0, end), number, part);
    rest.remove_prefix(end + kLineEnd.size());
    if (text.size() - rest.size() > kMaxPartHeaderBytes)
      refuse_form(
          fmt::format("the headers of part {} are longer than {} bytes", number, kMaxPartHeaderBytes));
  }
  if (part.name.empty()) refuse_form(fmt::format("part {} has no name", number));
  part.content = rest.substr(kLineEnd.size());
  return part;
}

}  // namespace

bool is_multipart(std::string_view content_type) {
  return equals_ignoring_case(main_value(content_type), "multipart/form-data");
}

std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body) {
  const std::string dashes = "--" + boundary_of(content_type);
  std::optional<Delimiter> before = find_delimiter(body, 0, dashes);
  if (!before) refuse_form("the boundary that content-type names is not in the body");
  std::vector<Part> parts;
  while (!before->closing) {
    if (parts.size() == kMaxParts) refuse_form(fmt::format("more than {} parts", kMaxParts));
    const std::optional<Delimiter> after = find_delimiter(body, before->end, dashes);
    if (!after) refuse_form(fmt::format("part {} is not closed by the boundary", parts.size()));
    // An empty part lies between two delimiters that share a line end.
    const size_t length = std::max(after->begin, before->end) - before->end;
    Part part = read_part(body.substr(before->end, length), parts.size());
    if (std::ranges::find(parts, part.name, &Part::name) != parts.end())
      refuse_form(fmt::format("two parts are named `{}`", shown(part.name)));
    parts.push_back(std::move(part));
    before = after;
  }
  return parts;
}

}  // namespace d3::api
