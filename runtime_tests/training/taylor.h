#pragma once

#include <gtest/gtest.h>

namespace espalier::training {

/// A remainder |J(x + e d) - J(x) - e <g, d>| is of second order in e: it falls by four
/// when e is halved, from `first` on while it is above `last`.
void expect_second_order(const auto& remainder, double first, double last,
                         double tolerance) {
  double before = remainder(2 * first);
  for (double e = first; e > last; e /= 2) {
    const double now = remainder(e);
    EXPECT_NEAR(before / now, 4, tolerance) << "e = " << e;
    before = now;
  }
}

}  // namespace espalier::training
