#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// A square matrix whose entries may be spread over processes, each entry at exactly one
/// of them: what is here, and how sums over all entries come about. Vectors are whole at
/// every process. A SquareMatrix alone is all here.
class MatrixPart {
 public:
  /// Not explicit: a matrix is the largest part of itself. It outlives this.
  MatrixPart(const SquareMatrix& whole) : here_(whole) {}
  /// @param here   of the order of the whole matrix; outlives this
  /// @param first  at one of the processes only: sums begin with what is not of the
  ///               matrix there
  /// @param sum    collective: adds vectors over the processes, in place, to the same
  ///               bits everywhere
  MatrixPart(const SquareMatrix& here, bool first,
             std::function<void(std::span<double>)> sum)
      : here_(here), first_(first), sum_(std::move(sum)) {}

  [[nodiscard]] const SquareMatrix& here() const { return here_; }
  [[nodiscard]] std::int32_t size() const { return here_.size(); }
  /// What a sum begins with here whose first term is `value`.
  [[nodiscard]] double start(double value) const { return first_ ? value : 0; }
  void sum(std::span<double> partial) const {
    if (sum_) sum_(partial);
  }
  /// The same for counts, by pieces of some kilobytes.
  void sum(std::span<std::int32_t> counts) const;

 private:
  const SquareMatrix& here_;
  bool first_ = true;
  std::function<void(std::span<double>)> sum_;
};

}  // namespace espalier::solver
