#include "media/key_frames.h"

#include <algorithm>
#include <span>

namespace d3::media {
namespace {

constexpr int kIdrSlice = 5;  // nal_unit_type, ITU-T H.264, table 7-1

/// The index entries of the stream when they are all its samples, in order of decoding; else none.
std::vector<AVIndexEntry> whole_index(AVStream* stream) {
  const int count = avformat_index_get_entries_count(stream);
  if (count < 2 || count != stream->nb_frames) return {};
  std::vector<AVIndexEntry> entries;
  entries.reserve(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const AVIndexEntry& entry = *avformat_index_get_entry(stream, i);
    if ((entry.flags & AVINDEX_DISCARD_FRAME) != 0) return {};
    if (!entries.empty() && entry.timestamp <= entries.back().timestamp) return {};
    entries.push_back(entry);
  }
  return entries;
}

}  // namespace

KeyFrames::KeyFrames(AVStream* stream) {
  const AVCodecParameters& parameters = *stream->codecpar;
  // An `avcC` box starts with its version, 1.
  if (parameters.codec_id != AV_CODEC_ID_H264 || parameters.extradata_size < 7 ||
      parameters.extradata[0] != 1)
    return;
  nal_unit_length_bytes_ = (parameters.extradata[4] & 3U) + 1;
  int64_t number = 0;
  for (const AVIndexEntry& entry : whole_index(stream)) {
    if ((entry.flags & AVINDEX_KEYFRAME) != 0) frames_.push_back({number, entry.timestamp, 0});
    if (!frames_.empty()) frames_.back().last_timestamp = entry.timestamp;
    ++number;
  }
}

std::optional<KeyFrames::KeyFrame> KeyFrames::last_up_to(int64_t number) const {
  const auto after =
      std::upper_bound(frames_.begin(), frames_.end(), number,
                       [](int64_t value, const KeyFrame& frame) { return value < frame.number; });
  if (after == frames_.begin()) return std::nullopt;
  return *std::prev(after);
}

std::optional<KeyFrames::KeyFrame> KeyFrames::starting_with(const AVPacket& packet) const {
  const auto at =
      std::lower_bound(frames_.begin(), frames_.end(), packet.dts,
                       [](const KeyFrame& frame, int64_t value) { return frame.timestamp < value; });
  if (at == frames_.end() || at->timestamp != packet.dts || !holds_idr(packet)) return std::nullopt;
  return *at;
}

bool KeyFrames::holds_idr(const AVPacket& packet) const {
  std::span<const uint8_t> rest(packet.data, static_cast<size_t>(packet.size));
  while (rest.size() > nal_unit_length_bytes_) {
    size_t length = 0;
    for (const uint8_t byte : rest.first(nal_unit_length_bytes_)) length = length << 8U | byte;
    rest = rest.subspan(nal_unit_length_bytes_);
    if ((rest[0] & 0x1FU) == kIdrSlice) return true;
    rest = rest.subspan(std::min(length, rest.size()));
  }
  return false;
}

}  // namespace d3::media
