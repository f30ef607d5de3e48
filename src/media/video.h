// media/video.h: which frames of a video are shown, and how large.
#pragma once

#include "media/image.h"
#include "media/pixels.h"

namespace d3::media {

/// Samples a video evenly at two frames a second (media/sizes.h) and resizes the frames. Frames that the
/// container promises and the file does not hold are left out; an odd number of frames repeats the last.
/// Throws Error(kInvalidArgument, reason), without a field.
Pixels sample_video(Bytes encoded, const MediaOptions& options);

}  // namespace d3::media
