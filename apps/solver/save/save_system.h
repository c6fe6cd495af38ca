#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/solver/options.h"
#include "espalier/solver/results.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/save/section_file.h"
#include "solver/scaling/prepare.h"
#include "solver/symbolic/analyse.h"
#include "solver/tree/assembly_tree.h"

namespace espalier::solver {

/// What a factorisation was made with, beside the matrix and its analysis.
struct SystemFacts {
  std::optional<FactorKind> asked_kind;  ///< SolverOptions::kind
  FactorKind kind = FactorKind::kCholesky;
  Precision precision = Precision::kDouble;
  std::int32_t workers = 1;    ///< that the assembly tree was built for; 0: no StarPU
  bool of_transposed = false;  ///< SolverOptions::of_transposed
  FrontGrids front_grids = FrontGrids::kNever;  ///< SolverOptions::front_grids
  double pivot_threshold = 0;
  double largest_entry = 0;
  PivotStatistics pivots;
  bool doubtful = false;                    ///< some may be rounding
  bool null_vector = false;                 ///< one was found
  std::int64_t zeros_of_blocks = 0;         ///< SingularBlocks::zeros; 0: not coupled
  std::int32_t processes = 1, process = 0;  ///< parts of the save, and which one this is
  std::int64_t save = 0;                    ///< the same in all of them
};

struct SavedSystem {
  SystemFacts facts;
  std::vector<WorkerRange> group;         ///< processes of each node; empty: one process
  PreparedMatrix prepared;                ///< without its matrix
  Analysis analysis;                      ///< without times
  std::vector<std::int32_t> block_width;  ///< AssemblyTree::block_width
};

/// Everything but the factor; of the matrix what is at this process.
/// @param group  SavedSystem::group
/// @throws FileError
void save_system(const SystemFacts& facts, const PreparedMatrix& prepared,
                 const Analysis& analysis, const AssemblyTree& tree, SectionWriter& file,
                 std::span<const WorkerRange> group = {});

/// @throws FileError when what is read is no system: check_symbolic() holds it
/// @par Cost  O(n + nonzeros + rows of fronts)
[[nodiscard]] SavedSystem load_system(SectionReader& file);

}  // namespace espalier::solver
