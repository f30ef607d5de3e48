#include "cpu/part_clock.h"

#include <string_view>

namespace d3::cpu {
namespace {

constexpr std::array<std::string_view, kParts> kNames = {"embed_tokens",
                                                         "layernorms",
                                                         "linear_attn.in_proj",
                                                         "linear_attn.delta_rule",
                                                         "linear_attn.out_proj",
                                                         "self_attn.qkv_proj",
                                                         "self_attn.attention",
                                                         "self_attn.o_proj",
                                                         "mlp.gate_up_proj",
                                                         "mlp.down_proj",
                                                         "readout"};

}  // namespace

void PartClock::begin() {
  for (WorkerTime& worker : products_) worker.seconds = 0;
}

void PartClock::end(Part part, double seconds) {
  Sum& sum = sums_[static_cast<size_t>(part)];
  sum.seconds += seconds;
  double products = 0;
  for (const WorkerTime& worker : products_) products += worker.seconds;
  sum.product_seconds += products / static_cast<double>(products_.size());
}

std::vector<model::PartTime> PartClock::times() const {
  std::vector<model::PartTime> times;
  for (size_t i = 0; i < kParts; ++i)
    times.push_back({kNames[i], sums_[i].seconds, sums_[i].product_seconds});
  return times;
}

}  // namespace d3::cpu
