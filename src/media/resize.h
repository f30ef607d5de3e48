// media/resize.h: the reference's resizing (torchvision's antialiased bicubic on uint8), bit for bit.
#pragma once

#include <cstdint>
#include <vector>

#include "media/image.h"
#include "media/resize_kernels.h"

namespace d3::media {

/// Antialiased bicubic (a = -0.5) in two passes, horizontal then vertical, rounded to uint8 after each; an
/// axis whose size does not change is left as it is. All sizes are at least 1. A source whose `rgb` has
/// capacity for kVectorSlack more bytes is not copied first. Uses the best kernels of this CPU.
Image resize(Image source, int height, int width);
Image resize(Image source, int height, int width, const ResizeKernels& kernels);

/// The weights of one axis as the reference computes them: in doubles, then in fixed point at the finest
/// precision at which the largest of them fits 16 bits.
ResizeAxis resize_axis(int in, int out);

}  // namespace d3::media
