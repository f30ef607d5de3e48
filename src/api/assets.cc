#include "api/assets.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <openssl/evp.h>

#include "decision/refuse.h"
#include "media/image_type.h"

namespace d3::api {
namespace {

using decision::refuse;
using decision::require_string;
using decision::shown;
using json::Member;
using json::Value;

std::string_view subtype(media::ImageType type) {
  switch (type) {
    case media::ImageType::kPng:
      return "png";
    case media::ImageType::kJpeg:
      return "jpeg";
    case media::ImageType::kWebp:
      return "webp";
  }
  return {};
}

/// The first bytes that a base64 text stands for, enough to know an image; empty where it is none.
std::string first_bytes(std::string_view text) {
  constexpr size_t kText = 16;
  std::array<unsigned char, kText / 4 * 3> bytes{};
  if (text.size() < kText) return {};
  const int length =
      EVP_DecodeBlock(bytes.data(), reinterpret_cast<const unsigned char*>(text.data()), kText);
  return length < 0 ? std::string() : std::string(bytes.begin(), bytes.end());
}

/// The format that an image's first bytes show.
media::ImageType require_image(std::string_view first, const std::string& path) {
  const std::optional<media::ImageType> type = media::image_type(first);
  if (!type) refuse(path, "must be a PNG, JPEG or WebP image");
  return *type;
}

decision::Medium image_file(std::string_view content, const std::string& path) {
  require_image(content, path);
  const auto bytes = std::as_bytes(std::span(content));
  return {.file = {bytes.begin(), bytes.end()}};
}

decision::Medium image_url(std::string_view encoded, const std::string& path) {
  const media::ImageType type = require_image(first_bytes(encoded), path);
  return {.url = fmt::format("data:image/{};base64,{}", subtype(type), encoded)};
}

void check_size(size_t bytes, const std::string& path) {
  if (bytes > kMaxImageBytes)
    refuse(path, fmt::format("an image has at most {} bytes, not {}", kMaxImageBytes, bytes));
}

/// An image under its name.
struct Asset {
  std::string name;
  decision::Medium image;
};

/// The fields of one asset; a null counts as absent.
struct Fields {
  const std::string* type = nullptr;
  const std::string* format = nullptr;
  const std::string* data_base64 = nullptr;
  const std::string* part = nullptr;
};

Fields read_fields(Value& value, const std::string& path) {
  Fields fields;
  const std::array<std::pair<std::string_view, const std::string**>, 4> known{{
      {"type", &fields.type},
      {"format", &fields.format},
      {"data_base64", &fields.data_base64},
      {"part", &fields.part},
  }};
  for (Member& member : decision::require_object(value, path)) {
    const auto* const field = std::ranges::find(known, member.key, [](const auto& row) { return row.first; });
    const std::string at = path + "." + shown(member.key);
    if (field == known.end()) refuse(at, "unknown field; an asset has type, format, data_base64 and part");
    if (!member.value.is_null()) *field->second = &require_string(member.value, at);
  }
  if (fields.type != nullptr && *fields.type != "image")
    refuse(path + ".type", fmt::format("must be image, not `{}`", shown(*fields.type)));
  constexpr std::array<std::string_view, 4> kFormats{"png", "jpg", "jpeg", "webp"};
  if (fields.format != nullptr && std::ranges::find(kFormats, *fields.format) == kFormats.end())
    refuse(path + ".format", fmt::format("is one of png, jpg, jpeg, webp, not `{}`", shown(*fields.format)));
  return fields;
}

/// The parts of a body, each to be claimed once.
class Claims {
 public:
  explicit Claims(std::span<const Part> parts) : parts_(parts), claimed_(parts.size()) {}

  std::string_view claim(const std::string& name, const std::string& path) {
    const auto part = std::ranges::find(parts_, name, &Part::name);
    if (part == parts_.end()) refuse(path, fmt::format("there is no part named `{}`", shown(name)));
    const auto index = static_cast<size_t>(part - parts_.begin());
    if (claimed_[index]) refuse(path, fmt::format("part `{}` belongs to another asset", shown(name)));
    claimed_[index] = true;
    return part->content;
  }

  void refuse_unclaimed() const {
    const auto free = std::ranges::find(claimed_, false);
    if (free == claimed_.end()) return;
    const Part& part = parts_[static_cast<size_t>(free - claimed_.begin())];
    refuse("assets", fmt::format("no asset names the part `{}`", shown(part.name)));
  }

 private:
  std::span<const Part> parts_;
  std::vector<bool> claimed_;
};

Asset read_asset(Member& member, Claims& claims) {
  if (member.key.empty()) refuse("assets", "names of assets must not be empty");
  const std::string path = "assets." + shown(member.key);
  const Fields fields = read_fields(member.value, path);
  decision::Medium image;
  if (fields.part != nullptr) {
    const std::string_view bytes = claims.claim(*fields.part, path + ".part");
    check_size(bytes.size(), path);
    image = image_file(bytes, path);
  } else if (fields.data_base64 != nullptr) {
    check_size(fields.data_base64->size() / 4 * 3, path + ".data_base64");
    image = image_url(*fields.data_base64, path + ".data_base64");
  } else {
    refuse(path, "needs part, the name of a part of the body, or data_base64");
  }
  return {std::move(member.key), std::move(image)};
}

/// The strings of a value, keys apart, in order.
void collect_strings(const Value* value, std::vector<std::string_view>& strings) {
  if (value == nullptr) return;
  if (value->is_string()) strings.emplace_back(value->as_string());
  if (value->is_array())
    for (const Value& element : value->as_array()) collect_strings(&element, strings);
  if (value->is_object())
    for (const Member& member : value->as_object()) collect_strings(&member.value, strings);
}

/// The client's own strings that reach the prompt, in its order.
std::vector<std::string_view> prompt_strings(const json::Object& body) {
  std::vector<std::string_view> strings;
  for (const Member& field : body)
    if (field.key == "state") collect_strings(&field.value, strings);
  const auto questions = std::ranges::find(body, "questions", &Member::key);
  if (questions == body.end() || !questions->value.is_object()) return strings;
  for (const Member& question : questions->value.as_object()) {
    collect_strings(question.value.find("instructions"), strings);
    collect_strings(question.value.find("criteria"), strings);
  }
  return strings;
}

/// Where a name is first mentioned: in which string, and at which byte of it.
using Mention = std::pair<size_t, size_t>;

Mention first_mention(std::string_view name, std::span<const std::string_view> strings) {
  for (size_t i = 0; i < strings.size(); ++i)
    if (const size_t at = strings[i].find(name); at != std::string_view::npos) return {i, at};
  return {strings.size(), 0};
}

std::vector<decision::Medium> in_order_of_mention(std::vector<Asset> assets, const json::Object& body) {
  const std::vector<std::string_view> strings = prompt_strings(body);
  std::vector<std::pair<Mention, Asset*>> order;
  for (Asset& asset : assets) order.emplace_back(first_mention(asset.name, strings), &asset);
  std::ranges::stable_sort(order, {}, &std::pair<Mention, Asset*>::first);
  std::vector<decision::Medium> images;
  for (const auto& [mention, asset] : order) images.push_back(std::move(asset->image));
  return images;
}

}  // namespace

std::vector<decision::Medium> take_assets(json::Object& body, std::span<const Part> parts) {
  std::vector<Asset> assets;
  Claims claims(parts);
  const auto field = std::ranges::find(body, "assets", &Member::key);
  if (field != body.end() && !field->value.is_null()) {
    json::Object& entries = decision::require_object(field->value, "assets");
    if (entries.empty() || entries.size() > kMaxAssets)
      refuse("assets", fmt::format("1 to {} assets, not {}", kMaxAssets, entries.size()));
    for (Member& entry : entries) assets.push_back(read_asset(entry, claims));
  }
  claims.refuse_unclaimed();
  if (field != body.end()) body.erase(field);
  if (assets.empty()) return {};
  return in_order_of_mention(std::move(assets), body);
}

}  // namespace d3::api
