// A part has the products that ran in it, and no others.
#include "cpu/part_clock.h"

#include <gtest/gtest.h>

namespace d3::cpu {
namespace {

TEST(PartClock, CountsOnlyTheProductsOfItsParts) {
  PartClock clock(2);
  clock.add_product(0, 8);  // of the vision tower, say
  {
    const PartTimer timer(clock, Part::kDownProj);
    clock.add_product(0, 1);
    clock.add_product(1, 2);
  }
  { const PartTimer timer(clock, Part::kDownProj); }
  for (const model::PartTime& part : clock.times())
    EXPECT_DOUBLE_EQ(part.product_seconds, part.name == "mlp.down_proj" ? 1.5 : 0.0) << part.name;
}

}  // namespace
}  // namespace d3::cpu
