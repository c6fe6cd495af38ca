#pragma once

#include <cstdint>

namespace espalier::training {

/// The elements that a process has of a tensor which several divide along an axis, in the
/// order of the whole: `run` in a row of every `stride`, from the `first` on. run = 0:
/// all elements.
struct ElementRuns {
  std::int64_t first = 0, run = 0, stride = 0;

  /// Of the i-th that the process has: its position in the whole tensor.
  [[nodiscard]] std::int64_t place(std::int64_t i) const {
    return run == 0 ? i : first + i / run * stride + i % run;
  }
};

}  // namespace espalier::training
