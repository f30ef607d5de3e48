// api/multipart.h: a multipart/form-data body (RFC 7578, on RFC 2046) as its parts.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace d3::api {

/// A body has at most this many parts, each with a header section of at most this many bytes.
inline constexpr size_t kMaxParts = 65;
inline constexpr size_t kMaxPartHeaderBytes = 8192;

struct Part {
  std::string name;          ///< of content-disposition; not empty, unique in the body
  std::string content_type;  ///< as sent, empty when there is none
  std::string_view content;  ///< of the body: valid as long as that is
};

/// Whether a header `content-type` is multipart/form-data, with any parameters.
bool is_multipart(std::string_view content_type);

/// The parts in their order. `content_type` is the request's header, which names the boundary. Text before
/// the first boundary and after the last is ignored, as RFC 2046 has it. Time is linear in the body, nothing
/// of the content is copied. Throws Error(kInvalidArgument) that says what is wrong and where.
std::vector<Part> parse_multipart(std::string_view content_type, std::string_view body);

}  // namespace d3::api
