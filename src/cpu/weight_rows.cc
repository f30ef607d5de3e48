#include "cpu/weight_rows.h"

#include <bit>
#include <cstring>

#include "cpu/bf16.h"

namespace d3::cpu {
namespace {

// IEEE half to float: shift the exponent and mantissa into place and rescale by 2^112, which also makes
// subnormals right.
float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000U) << 16;
  const uint32_t magnitude = static_cast<uint32_t>(half & 0x7FFFU) << 13;
  if (magnitude >= 0x0F800000U) return std::bit_cast<float>(sign | 0x7F800000U | (magnitude & 0x007FFFFFU));
  const float scaled = std::bit_cast<float>(magnitude) * std::bit_cast<float>(uint32_t{(127 + 112) << 23});
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

template <typename Element, typename Convert>
void convert(const std::byte* data, int64_t count, float* out, Convert to) {
  for (int64_t i = 0; i < count; ++i) {
    Element element;
    std::memcpy(&element, data + i * static_cast<int64_t>(sizeof(Element)), sizeof(Element));
    out[i] = to(element);
  }
}

}  // namespace

void read_floats(const checkpoint::TensorView& tensor, int64_t first, int64_t count, float* out) {
  switch (tensor.dtype) {
    case checkpoint::Dtype::kFloat32:
      std::memcpy(out, tensor.data.data() + first * 4, static_cast<size_t>(count) * 4);
      break;
    case checkpoint::Dtype::kBfloat16:
      convert<uint16_t>(tensor.data.data() + first * 2, count, out,
                        [](uint16_t bits) { return to_float(Bf16{bits}); });
      break;
    case checkpoint::Dtype::kFloat16:
      convert<uint16_t>(tensor.data.data() + first * 2, count, out, half_to_float);
      break;
  }
}

std::vector<float> read_floats(const checkpoint::TensorView& tensor, float offset) {
  int64_t count = 1;
  for (const int64_t size : tensor.shape) count *= size;
  std::vector<float> values(static_cast<size_t>(count));
  read_floats(tensor, 0, count, values.data());
  for (float& value : values) value += offset;
  return values;
}

}  // namespace d3::cpu
