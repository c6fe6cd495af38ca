#pragma once

#include <optional>

#include "solver/api/solver.h"
#include "solver/tree/explain_memory.h"

namespace espalier::solver {

/// What makes up Solver::least(): everything in memory, whatever was planned.
/// @param order  of the solver's options
/// @par Cost  that of sequential_order()
[[nodiscard]] MemoryExplanation explain_least(const Solver& solver, OrderKind order);

/// What makes up MemoryAccount::least_out_of_core(); nothing where no directory was
/// given.
[[nodiscard]] std::optional<MemoryExplanation> explain_least_out_of_core(
    const Solver& solver, OrderKind order);

/// What made up Solver::peak_resident(), after the last of factorise() and solve().
[[nodiscard]] MemoryExplanation explain_peak(const Solver& solver,
                                             const FactorReport& report);

}  // namespace espalier::solver
