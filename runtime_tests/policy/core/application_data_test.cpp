#include <gtest/gtest.h>

#include <array>

#include "policy/core/application_data.h"

namespace espalier::policy {
namespace TEST_SOURCE {

const char memory[1000] = {};

TEST(ApplicationData, CountsEachPlaceOnce) {
  ApplicationData data;
  data.add(memory, 100, 100);
  data.add(memory + 100, 50, 50);
  data.add(memory, 100, 100);
  EXPECT_EQ(data.bytes(), 150);
  EXPECT_EQ(data.count(), 2);
}

TEST(ApplicationData, CountsNothingForNothing) {
  ApplicationData data;
  data.add(nullptr, 100, 100);
  data.add(memory, 0, 0);
  EXPECT_EQ(data.bytes(), 0);
  EXPECT_EQ(data.count(), 0);
}

// A matrix of 10 x 10 bytes in columns, and its four tiles.
TEST(ApplicationData, CountsAMatrixAndItsTilesOnceInWhateverOrder) {
  struct Part {
    int begin, extent, bytes;
  };
  const std::array parts{Part{0, 100, 100}, Part{0, 45, 25}, Part{5, 45, 25},
                         Part{50, 45, 25}, Part{55, 45, 25}};
  for (std::size_t first = 0; first < parts.size(); ++first) {
    ApplicationData data;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      const Part& part = parts[(first + i) % parts.size()];
      data.add(memory + part.begin, part.extent, part.bytes);
    }
    EXPECT_EQ(data.bytes(), 100) << "beginning with part " << first;
  }
  ApplicationData tiles;
  for (std::size_t i = 1; i < parts.size(); ++i)
    tiles.add(memory + parts[i].begin, parts[i].extent, parts[i].bytes);
  EXPECT_EQ(tiles.bytes(), 100) << "tiles alone";
}

TEST(ApplicationData, CountsMemoryThatIsUsedAgainByItsLargestDatum) {
  ApplicationData data;
  data.add(memory, 40, 40);
  data.add(memory, 100, 100);
  data.add(memory, 60, 60);
  EXPECT_EQ(data.bytes(), 100);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
