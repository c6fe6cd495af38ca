#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/matrix/linear_operator.h"
#include "solver/matrix/matrix_part.h"

namespace espalier::solver {

/// What is to be found out about a matrix A whose diagonal blocks are singular.
struct SingularBlocks {
  const MatrixPart& a;
  std::int64_t zeros;  ///< zero pivots of the blocks, of complex ones twice
  /// By the blocks, each zero pivot replaced by a number that is as large as entries are.
  BlockOperator solve, solve_transposed;
  /// Of a symmetric matrix: row i of A is row `exchanged[i]` of it; empty: the same.
  /// None: A is not symmetric.
  std::optional<std::vector<std::int32_t>> exchanged = {};
  /// independent_systems(): no vector is of more than one of them. Empty: there is one.
  std::vector<std::int32_t> systems = {};
  int rounds = 1;  ///< in which vectors are cleaned of what solves leave of others
};

/// Pivots that the coupling of singular blocks gives the matrix A as a whole: variables
/// that no matching pairs, and zero pivots of other blocks.
///
/// Let Z be the solve with the blocks, the zero pivots replaced, back substitution
/// between them, and zero for unmatched variables. T = I - Z A and T' = I - A Z keep what
/// no block has a pivot for, and A T is of rank rank(A) - (pivots of the blocks), at most
/// the number of zero pivots: so many vectors P = T (random), Q^T = (random) T' span all
/// of it. With Q^T A P = W S V^T of rank g
///   x = Z b + P V S^-1 W^T Q^T (b - A Z b)
/// solves A x = b wherever that has a solution, and g is what the rank of A is larger by.
/// Of a symmetric matrix P and Q are the same, and A is congruent to the blocks' pivots
/// and S: it has the negative eigenvalues of both.
///
/// @par Test  SingularBlocks.*, UnmatchedVariables.*
class CoupledPivots {
 public:
  /// Collective where the matrix is a part of one.
  /// @par Cost  6 solves for each zero pivot; symmetric: 3
  explicit CoupledPivots(const SingularBlocks& blocks);

  [[nodiscard]] std::int64_t gained() const { return gained_; }
  [[nodiscard]] std::int64_t negative() const { return negative_; }
  /// block := Z block and what is missing of it. Collective, likewise.
  void solve(const MatrixPart& a, bool transposed, std::span<double> block,
             std::int32_t nrhs, const BlockOperator& by_blocks) const;
  /// x, which is Z b or Z^T b, gets what is missing of it.
  void complete(const MatrixPart& a, bool transposed, std::span<const double> b,
                std::span<double> x) const;

  /// The most that is allocated, while they are sought and in solves.
  /// @param size  of a vector
  [[nodiscard]] static Bytes bytes(std::int64_t size, std::int64_t zeros);

 private:
  std::int64_t gained_ = 0, negative_ = 0;
  std::size_t n_;
  std::vector<double> right_, left_;  // P V S^-1 and Q W: g vectors
};

}  // namespace espalier::solver
