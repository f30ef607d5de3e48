// tests/support/golden_media_request.h: the requests of media.jsonl with the files themselves.
#pragma once

#include <fstream>
#include <iterator>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "decision/validation.h"
#include "support/golden.h"
#include "test_paths.h"

namespace d3::test {

/// The bytes of a file of tests/data; `path` is "media/rgb.png".
inline std::vector<std::byte> media_bytes(const std::string& path) {
  std::ifstream in(data_path(path), std::ios::binary);
  if (!in) throw std::runtime_error("no " + path);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Takes a list of paths out of a request.
inline std::vector<decision::Medium> take_media(json::Value& request, std::string_view field) {
  std::vector<decision::Medium> media;
  std::erase_if(request.as_object(), [&](json::Member& member) {
    if (member.key != field) return false;
    for (const json::Value& path : member.value.as_array())
      media.push_back({.file = media_bytes(path.as_string())});
    return true;
  });
  return media;
}

inline std::shared_ptr<decision::Request> media_request(const GoldenCase& golden) {
  json::Value body = golden.request;
  std::vector<decision::Medium> images = take_media(body, "images");
  std::vector<decision::Medium> videos = take_media(body, "videos");
  auto request = std::make_shared<decision::Request>(decision::parse_request(std::move(body)));
  request->images = std::move(images);
  request->videos = std::move(videos);
  return request;
}

}  // namespace d3::test
