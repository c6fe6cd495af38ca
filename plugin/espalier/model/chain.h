#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Time of plans whose costs are compared for equality.
using Nanoseconds = std::int64_t;

/// The number nearest to it: 9 ns are 9e-9, which 9 * 1e-9 is not.
[[nodiscard]] constexpr double to_seconds(Nanoseconds time) {
  return static_cast<double>(time) / 1e9;
}

/// One stage of a heterogeneous chain.
struct Stage {
  Bytes input = 0;  ///< x_i: what it reads, and with that what the stage before writes
  Bytes saved = 0;  ///< x̄_{i+1}: all that its backward needs but x_i; its output is in it
  Nanoseconds forward = 0, backward = 0;
  Bytes forward_workspace = 0;
  /// the adjoint that it writes counts here, where it does not replace the one it reads
  Bytes backward_workspace = 0;
};

/// What a chain asks of each of its stages. @param output  bytes of what it writes
/// @throws InvalidInput naming the stage for a negative value, or a saved set smaller
/// than
///         the output in it
void check_stage(const Stage& stage, std::int64_t number, Bytes output);

/// A chain of stages with sizes and costs of their own, the last of them usually the
/// loss. Immutable.
class Chain {
 public:
  /// @param output  bytes of what the last stage writes, and of its adjoint
  /// @throws InvalidInput for no stage, a negative output, or as check_stage();
  ///         OverflowError, naming the stage, when a sum of all sizes or costs, twice,
  ///         leaves 64 bits
  explicit Chain(std::vector<Stage> stages, Bytes output = 0);

  [[nodiscard]] std::int64_t size() const {
    return static_cast<std::int64_t>(stages_.size());
  }
  [[nodiscard]] const Stage& stage(std::int64_t i) const {
    return stages_[static_cast<std::size_t>(i)];
  }
  [[nodiscard]] std::span<const Stage> stages() const { return stages_; }
  /// x_i, i up to and with size(): the state between stage i-1 and stage i.
  [[nodiscard]] Bytes state(std::int64_t i) const {
    return i < size() ? stage(i).input : output_;
  }
  [[nodiscard]] Bytes output() const { return output_; }

 private:
  std::vector<Stage> stages_;
  Bytes output_;
};

}  // namespace espalier
