#include "api/openapi.h"

#include <array>
#include <utility>

#include "api/openapi_text.h"
#include "api/systemone.h"
#include "json/write.h"

namespace d3::api {
namespace {

constexpr std::string_view kNoMedia = R"({"type":["array","null"],"maxItems":0})";
constexpr std::string_view kImages =
    R"({"type":["array","null"],"items":{"$ref":"#/components/schemas/ImageUrl"}})";
constexpr std::string_view kVideos =
    R"({"type":["array","null"],"items":{"$ref":"#/components/schemas/VideoUrl"}})";
constexpr std::string_view kNoAssets = R"({"type":"null"})";
constexpr std::string_view kAssets = R"({"$ref":"#/components/schemas/Assets"})";
constexpr std::string_view kAssetPart = R"({"type":"string","contentMediaType":"application/octet-stream"})";
constexpr std::string_view kTextParts =
    R"([{"$ref":"#/components/schemas/TextPart"},{"$ref":"#/components/schemas/JsonPart"}])";
constexpr std::string_view kAllParts =
    R"([{"$ref":"#/components/schemas/TextPart"},{"$ref":"#/components/schemas/JsonPart"},)"
    R"({"$ref":"#/components/schemas/ImagePart"}])";

/// The served names as a JSON list, then `others`, which is JSON.
std::string names_and(const ServedModel& model, std::string_view others) {
  std::string list = "[";
  for (const std::string& name : model.names) {
    if (list.size() > 1) list += ',';
    json::append_untrusted_string(list, name);
  }
  list += others;
  list += ']';
  return list;
}

std::string quoted(std::string_view text) {
  std::string result;
  json::append_string(result, text);
  return result;
}

}  // namespace

std::string write_openapi(const ServedModel& model, std::string_view version, bool wants_key) {
  // Strings of the text, by what stands between their quotes.
  const std::array<std::pair<std::string_view, std::string>, 9> places{{
      {"version", quoted(version)},
      {"security", wants_key ? R"([{"key":[]}])" : "[]"},
      {"systemone_models", names_and(model, ",\"\"," + quoted(kSdkDefaultModel) + ",null")},
      {"decisions_models", names_and(model, "")},
      {"images", std::string(model.takes_media ? kImages : kNoMedia)},
      {"videos", std::string(model.takes_media ? kVideos : kNoMedia)},
      {"assets", std::string(model.takes_media ? kAssets : kNoAssets)},
      {"form_parts", std::string(model.takes_media ? kAssetPart : "false")},
      {"parts", std::string(model.takes_media ? kAllParts : kTextParts)},
  }};
  std::string text;
  text.reserve(kOpenApiText.size() + 1024);
  std::string_view rest = kOpenApiText;
  for (size_t at = rest.find("\"@"); at != std::string_view::npos; at = rest.find("\"@")) {
    text += rest.substr(0, at);
    rest.remove_prefix(at + 2);
    const size_t end = rest.find("@\"");
    for (const auto& [place, value] : places)
      if (rest.substr(0, end) == place) text += value;
    rest.remove_prefix(end + 2);
  }
  return text.append(rest);
}

}  // namespace d3::api
