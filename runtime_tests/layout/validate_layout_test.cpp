#include "espalier/model/validate_layout.h"

#include <gtest/gtest.h>

#include "espalier/model/error.h"
#include "espalier/model/replay_layout.h"

namespace espalier {
namespace TEST_SOURCE {

const BufferSet& example() {
  static const BufferSet buffers({{0, 2, 1}, {2, 4, 1}, {1, 3, 2}, {0, 4, 0}});
  return buffers;
}

Layout valid() { return {{0, 0, 1, 2}, 3, 3, 3, false}; }

TEST(ValidateLayout, AcceptsAValidLayout) {
  EXPECT_TRUE(validate(example(), valid()).empty());
}

TEST(ValidateLayout, FindsAnOverlapFromBelowAndFromAbove) {
  Layout low = valid();
  low.offsets[2] = 0;
  low.capacity_bytes = 2;
  EXPECT_EQ(validate(example(), low).front(),
            "buffer 2, bytes 0 … 2 in [1, 3) overlaps buffer 0, bytes 0 … 1 in [0, 2)");
  Layout high = valid();
  high.offsets[1] = 2;
  EXPECT_EQ(validate(example(), high).front(),
            "buffer 1, bytes 2 … 3 in [2, 4) overlaps buffer 2, bytes 1 … 3 in [1, 3)");
}

TEST(ValidateLayout, FindsEveryOtherMistake) {
  const auto broken = [](auto change) {
    Layout layout = valid();
    change(layout);
    return !validate(example(), layout).empty();
  };
  EXPECT_TRUE(broken([](Layout& l) { l.offsets[0] = -1; }));
  EXPECT_TRUE(broken([](Layout& l) { l.offsets.pop_back(); }));
  EXPECT_TRUE(broken([](Layout& l) { l.capacity_bytes = 2; }));
  EXPECT_TRUE(broken([](Layout& l) { l.capacity_bytes = 4; }));
  EXPECT_TRUE(broken([](Layout& l) { l.lower_bound_bytes = 4; }));
  EXPECT_TRUE(broken([](Layout& l) { l.lower_bound_bytes = 2; }));
  EXPECT_TRUE(broken([](Layout& l) { l.offsets[2] = INT64_MAX - 1; }));
  EXPECT_FALSE(validate(example(), valid(), 2).empty());
  EXPECT_FALSE(validate(example(), valid(), 0).empty());
}

TEST(ReplayLayout, GivesTheHighestEndAndTheLoad) {
  const LayoutFigures figures = replay_layout(example(), valid().offsets);
  EXPECT_EQ(figures.capacity_bytes, 3);
  EXPECT_EQ(figures.load_bytes, 3);
  EXPECT_THROW((void)replay_layout(example(), std::vector<Bytes>{0}), InvalidInput);
  EXPECT_THROW((void)replay_layout(example(), std::vector<Bytes>{0, 0, INT64_MAX, 0}),
               OverflowError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
