#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <utility>

#include "solver/matrix/coupling.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// The rows of a matrix whose columns are spread over processes: each is summed up where
/// the column of its number is, in the order of columns, so that a product with a vector
/// has the bits that one process gives it. Products of entries whose rows are summed up
/// elsewhere are sent there; they are complex where the matrix is.
class SpreadRows {
 public:
  virtual ~SpreadRows() = default;
  /// Whether a row is summed up here.
  [[nodiscard]] virtual bool is_here(std::int32_t row) const = 0;
  /// Entry number `entry` of the lower triangle, in `column`, times its x.
  template <class T>
  using Product = std::function<T(std::int64_t entry, std::int32_t column)>;
  using Columns = std::function<void(std::int32_t begin, std::int32_t end)>;
  template <class T>
  using Arrived = std::function<void(std::int32_t row, T product)>;
  /// Collective. Calls, in the order of columns, `columns` with those that are here and
  /// `arrived` with what comes for rows that are.
  virtual void in_order(const Product<double>& product, const Columns& columns,
                        const Arrived<double>& arrived) = 0;
  virtual void in_order(const Product<Complex>& product, const Columns& columns,
                        const Arrived<Complex>& arrived) = 0;
  /// -0 in the rows of others, in both parts of complex ones.
  virtual void clear_others(std::span<double> sums) const = 0;
};

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
  /// @param rows   null: products with vectors are rounded in another order than on one
  ///               process; outlives this
  /// @param coupling  as above, all of it at every process; null: there is none
  MatrixPart(const SquareMatrix& here, bool first,
             std::function<void(std::span<double>)> sum, SpreadRows* rows = nullptr,
             const Coupling* coupling = nullptr)
      : here_(here),
        coupling_(coupling != nullptr && coupling->size > 0 ? coupling : nullptr),
        first_(first),
        sum_(std::move(sum)),
        rows_(rows) {}

  [[nodiscard]] const SquareMatrix& here() const { return here_; }
  /// Whether here() and what stands beside it is all.
  [[nodiscard]] bool is_whole() const { return !sum_; }
  /// Calls entry(i, j, value) with the entries that stand beside here(), which are T's:
  /// at the first process, so that each is in a sum once.
  template <class T, class Entry>
  void for_each_coupling(const Entry& entry) const {
    if (first_) for_each_coupling_anywhere<T>(entry);
  }
  /// The same at every process.
  template <class T, class Entry>
  void for_each_coupling_anywhere(const Entry& entry) const {
    if (coupling_ == nullptr) return;
    for (std::int32_t j = 0; j < coupling_->size; ++j)
      for (auto k = coupling_->column_start[j]; k < coupling_->column_start[j + 1]; ++k)
        entry(coupling_->row[k], j, coupling_->entry<T>(k));
  }
  [[nodiscard]] std::int32_t size() const { return here_.size(); }
  /// Of here() those entries count whose row and column are before this one.
  [[nodiscard]] std::int32_t inner() const { return inner_ < 0 ? size() : inner_; }
  /// What a sum begins with here whose first term is `value`.
  template <class T>
  [[nodiscard]] T start(T value) const {
    return first_ ? value : T(0);
  }
  void sum(std::span<double> partial) const {
    if (sum_) sum_(partial);
  }
  /// Where rows are summed up one by one; null: wherever their entries are.
  [[nodiscard]] SpreadRows* rows() const { return rows_; }
  /// start() and sum() of what is summed up by rows().
  template <class T>
  [[nodiscard]] T start_row(T value) const {
    return rows_ != nullptr ? value : start(value);
  }
  void sum_rows(std::span<double> partial) const {
    if (rows_ != nullptr) rows_->clear_others(partial);
    sum(partial);
  }
  /// The same for counts, by pieces of some kilobytes.
  void sum(std::span<std::int32_t> counts) const;

 private:
  const SquareMatrix& here_;
  const Coupling* coupling_ = nullptr;
  std::int32_t inner_ = -1;  // all
  bool first_ = true;
  std::function<void(std::span<double>)> sum_;
  SpreadRows* rows_ = nullptr;
};

}  // namespace espalier::solver
