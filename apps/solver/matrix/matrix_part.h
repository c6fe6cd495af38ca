#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "solver/matrix/coupling.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// A square matrix whose entries may be spread over processes, each entry at exactly one
/// of them: what is here, and how sums over all entries come about. Vectors are whole at
/// every process. A SquareMatrix alone is all here.
class MatrixPart {
 public:
  /// Not explicit: a matrix is the largest part of itself. It outlives this.
  MatrixPart(const SquareMatrix& whole) : here_(whole) {}
  /// The sum of both, which have no entry in common; of order 0: there is no coupling.
  MatrixPart(const SquareMatrix& blocks, const Coupling& coupling)
      : here_(blocks), coupling_(coupling.size > 0 ? &coupling : nullptr) {}
  /// The leading block of order `inner`, and ones on the diagonal after it.
  [[nodiscard]] static MatrixPart leading(const SquareMatrix& whole, std::int32_t inner) {
    MatrixPart part(whole);
    part.inner_ = inner;
    return part;
  }
  /// @param here   of the order of the whole matrix; outlives this
  /// @param first  at one of the processes only: sums begin with what is not of the
  ///               matrix there
  /// @param sum    collective: adds vectors over the processes, in place, to the same
  ///               bits everywhere
  MatrixPart(const SquareMatrix& here, bool first,
             std::function<void(std::span<double>)> sum)
      : here_(here), first_(first), sum_(std::move(sum)) {}

  [[nodiscard]] const SquareMatrix& here() const { return here_; }
  /// Whether here() and what stands beside it is all.
  [[nodiscard]] bool is_whole() const { return !sum_; }
  /// Calls entry(i, j, value) with the entries that stand beside here(), which are T's.
  template <class T, class Entry>
  void for_each_coupling(const Entry& entry) const {
    if (coupling_ == nullptr) return;
    for (std::int32_t j = 0; j < coupling_->size; ++j)
      for (auto k = coupling_->column_start[j]; k < coupling_->column_start[j + 1]; ++k)
        entry(coupling_->row[k], j, coupling_->entry<T>(k));
  }
  [[nodiscard]] std::int32_t size() const { return here_.size(); }
  /// Of here() those entries count whose row and column are before this one.
  [[nodiscard]] std::int32_t inner() const { return inner_ < 0 ? size() : inner_; }
  /// What a sum begins with here whose first term is `value`.
  [[nodiscard]] double start(double value) const { return first_ ? value : 0; }
  void sum(std::span<double> partial) const {
    if (sum_) sum_(partial);
  }
  /// The same for counts, by pieces of some kilobytes.
  void sum(std::span<std::int32_t> counts) const;

 private:
  const SquareMatrix& here_;
  const Coupling* coupling_ = nullptr;
  std::int32_t inner_ = -1;  // all
  bool first_ = true;
  std::function<void(std::span<double>)> sum_;
};

}  // namespace espalier::solver
