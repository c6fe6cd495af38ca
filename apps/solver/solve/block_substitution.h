#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/solve/paced_ask.h"
#include "solver/solve/triangular_solve.h"
#include "solver/symbolic/block_form.h"

namespace espalier::solver {

/// Solves with a block triangular matrix whose diagonal blocks are factored: block after
/// block, by one thread. Between blocks vectors are in double precision, of complex
/// numbers real and imaginary parts in turn.
template <class T>
class BlockSubstitution {
 public:
  /// @param nrhs  most vectors of a solve; what the rest refers to outlives this
  BlockSubstitution(const FactorView<T>& view, const BlockForm& form, std::int32_t nrhs);

  /// block := A^-1 block, or A^-T block, without conjugation, in elimination order.
  /// @param ask  called between fronts, see PacedAsk; what it throws is thrown
  /// @throws Error when a panel in the file cannot be read
  /// @par Cost  4 flops for each entry of the factor and vector, 2 for each of coupling
  void solve(bool transposed, std::span<double> block, std::int32_t nrhs,
             const std::function<void()>& ask = {});

 private:
  using Number = Wide<T>;
  struct Range {
    std::int32_t begin, end;  // columns
  };
  [[nodiscard]] Range columns_of(const BlockForm::Block& block) const;
  const T* panels_of(std::int32_t front);
  std::optional<Number> pivot_of(const BlockForm::Block& block);
  void pull(Range range, Number* x, std::int32_t nrhs) const;
  void push(Range range, Number* x, std::int32_t nrhs) const;
  void solve_block(const FrontSolve<T>& fronts, const BlockForm::Block& block,
                   PacedAsk& ask, Number* vectors, std::int32_t nrhs);
  Vectors<T> load(Range range, Number* block, std::int32_t nrhs);
  void store(Range range, Number* block, std::int32_t nrhs) const;

  FactorView<T> view_;
  const BlockForm& form_;
  std::int64_t size_;
  std::vector<T> side_, solution_;  // side_ empty where T is Number
  std::vector<int> exponent_;       // of the block's part of each vector
  std::vector<T> local_;
  std::optional<NodeStorage<T>> storage_;  // of the node of the last front
  std::int32_t node_ = -1;
};

}  // namespace espalier::solver
