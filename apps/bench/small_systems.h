#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "peer_matrix.h"

namespace espalier::bench {

/// Of a plane grid: its Laplacian (spd), the same with constraints (symmetric), with
/// convection (general). @param order  10 or more
[[nodiscard]] PeerMatrix small_system(std::string_view kind, std::int32_t order);

/// A solver that stays in the calling thread, on one system.
class SmallSolver {
 public:
  virtual ~SmallSolver() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// From the matrix to the solution and everything given back: analysis, factorisation,
  /// solve. x: the right-hand side, then the solution.
  virtual void solve_fresh(std::vector<double>& x) = 0;
  /// After keep_analysis(): factorisation, with the values as if they were new, and
  /// solve.
  virtual void solve_values(std::vector<double>& x) = 0;
  virtual void keep_analysis() = 0;
};

/// Ours first; then those of CHOLMOD, MUMPS and UMFPACK that are for the kind.
/// @param matrix    outlives them
/// @param residual  whether ours measures the error of each solution and refines it
[[nodiscard]] std::vector<std::unique_ptr<SmallSolver>> small_solvers(
    const PeerMatrix& matrix, std::string_view kind, bool residual);

}  // namespace espalier::bench
