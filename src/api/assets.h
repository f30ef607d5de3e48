// api/assets.h: the field `assets` of POST /v1/systemone, as typesafe-sdk sends it: images under names that
// the state and the questions may mention, each a part of a multipart body or base64 text in place.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "api/multipart.h"
#include "decision/request.h"
#include "json/value.h"
#include "media/media.h"

namespace d3::api {

inline constexpr size_t kMaxAssets = 64;
inline constexpr size_t kMaxImageBytes = media::MediaOptions{}.max_image_bytes;  ///< encoded

/// Takes the member `assets` out of a body; its images, none where it is absent or null: the bytes of parts,
/// and base64 text as `data:image/<png|jpeg|webp>;base64,` URLs. Their order is that in which the strings of
/// the state and then of each question's instructions and criteria mention the assets' names; those nobody
/// mentions follow in their own order. Every one of `parts` must be claimed by exactly one asset. Throws
/// Error(kInvalidArgument) with the path at fault: `assets`, `assets.<name>`, `assets.<name>.part`.
std::vector<decision::Medium> take_assets(json::Object& body, std::span<const Part> parts);

}  // namespace d3::api
