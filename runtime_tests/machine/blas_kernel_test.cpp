#include "espalier/machine/blas_kernel.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <tuple>

namespace espalier {
namespace TEST_SOURCE {

using enum VectorUnit;

constexpr Processor kIntel512{.unit = kAvx512}, kIntel2{.unit = kAvx2},
    kIntel1{.unit = kAvx}, kAmd512{.unit = kAvx512, .amd = true},
    kAmd2{.unit = kAvx2, .amd = true}, kOld{};

TEST(BlasKernel, OfAProcessorNewerThanTheLibraryIsReplaced) {
  // An Emerald Rapids, an Alder Lake and two Zen that the library takes for older ones.
  EXPECT_EQ(better_blas_kernel(kIntel512, "Prescott"), "SkylakeX");
  EXPECT_EQ(better_blas_kernel(kIntel2, "Prescott"), "Haswell");
  EXPECT_EQ(better_blas_kernel(kAmd512, "Barcelona"), "SkylakeX");
  EXPECT_EQ(better_blas_kernel(kAmd2, "Barcelona"), "Zen");
}

TEST(BlasKernel, OfASmallerVectorUnitIsReplaced) {
  EXPECT_EQ(better_blas_kernel(kIntel512, "Haswell"), "SkylakeX");
  EXPECT_EQ(better_blas_kernel(kAmd512, "Zen"), "SkylakeX");
  EXPECT_EQ(better_blas_kernel(kIntel2, "Sandybridge"), "Haswell");
  EXPECT_EQ(better_blas_kernel(kIntel1, "Nehalem"), "Sandybridge");
}

TEST(BlasKernel, ThatSuitsTheProcessorStays) {
  for (const auto& [processor, kernel] : {std::tuple{kIntel512, "SkylakeX"},
                                          {kIntel512, "Cooperlake"},
                                          {kIntel512, "SapphireRapids"},
                                          {kIntel2, "Haswell"},
                                          {kIntel2, "Zen"},
                                          {kAmd2, "Zen"},
                                          {kAmd2, "Haswell"},
                                          {kAmd2, "Excavator"},
                                          {kAmd512, "Cooperlake"},
                                          {kIntel1, "Sandybridge"},
                                          {kOld, "Prescott"},
                                          {kOld, "Nehalem"}})
    EXPECT_EQ(better_blas_kernel(processor, kernel), std::nullopt) << kernel;
}

TEST(BlasKernel, OfAnUnknownNameStays) {
  for (const char* kernel : {"", "GraniteRapids", "NeoverseV1", "POWER10"})
    EXPECT_EQ(better_blas_kernel(kIntel512, kernel), std::nullopt) << kernel;
}

// Law: the advice is never in need of advice.
TEST(BlasKernel, SuitableIsNotImprovedUpon) {
  for (const Processor& processor : {kIntel512, kIntel2, kIntel1, kAmd512, kAmd2, kOld}) {
    const auto kernel = suitable_blas_kernel(processor);
    if (!kernel) continue;
    EXPECT_EQ(better_blas_kernel(processor, *kernel), std::nullopt) << *kernel;
  }
  EXPECT_EQ(suitable_blas_kernel(kOld), std::nullopt);
}

TEST(BlasKernel, IsNotAdvisedOnWhereNoOpenBlasIsLoaded) {
  // This program links the planner only.
  EXPECT_EQ(blas_kernel(), std::nullopt);
  EXPECT_EQ(advised_blas_kernel(), std::nullopt);
  EXPECT_EQ(blas_advice(), "");
}

}  // namespace TEST_SOURCE
}  // namespace espalier
