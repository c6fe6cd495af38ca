#pragma once

namespace espalier::solver::kernels {

/// Whether products and solves of BLAS with one vector give other bits where their
/// operands begin elsewhere in memory: kernels of old processors ("Prescott" of OpenBLAS,
/// which it takes for those that it does not know) begin with what is not aligned, and
/// add up in another order. Whoever promises the same bits then does without them.
///
/// Tried out, not looked up, by the first call: some 10^6 operations, which a system of a
/// thousand unknowns notices. Safe from any thread.
/// @par Test  single right-hand sides of kernels that stand elsewhere, block_solve_test
template <class T>
[[nodiscard]] bool bits_follow_place();

}  // namespace espalier::solver::kernels
