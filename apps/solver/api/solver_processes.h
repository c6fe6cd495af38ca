#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "solver/api/solver_impl.h"
#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/process_part.h"
#include "solver/distributed/row_exchange.h"
#include "solver/distributed/tree_mappings.h"

namespace espalier::solver {

struct Solver::Impl::ProcessPart {
  FrontDistribution distribution = {};
  std::vector<TaskId> witness = {};
  AssemblyTree tree = {};
  Traffic received = {};
};

struct Solver::Impl::MappingNeeds {
  TreeMapping mapping;
  Bytes held = 0;              ///< by part and matrix here, once they are there
  MemoryAccount account = {};  ///< of this process; what is `elsewhere` is of all
  Seconds seconds = 0;         ///< about: of the process that takes longest
  Bytes largest_peak = 0;      ///< of fronts, of the process that needs most
};

struct Solver::Impl::Processes {
  explicit Processes(Communicator& processes) : communicator(processes) {}

  /// Of those that fit, in core or else out of core, the one of least cost. Null: none.
  /// @param possible  of each candidate whether it may be taken; empty: all may
  [[nodiscard]] const MappingNeeds* choose(std::optional<Bytes> bound, bool spills,
                                           const std::vector<bool>& possible = {}) const;

  [[nodiscard]] const MappingNeeds& least_candidate(Bytes (MemoryAccount::*needed)()
                                                        const) const;

  Communicator& communicator;
  std::unique_ptr<Channel> channel;
  AssemblyTree whole;  ///< of all processes
  std::vector<MappingNeeds> candidates;
  Bytes least = 0, least_out_of_core = 0, sequential_least = 0;

  // Of the mapping at hand; its tree is the solver's.
  FrontDistribution distribution;
  std::vector<TaskId> witness;

  /// Where the matrix is; empty: at process 0, as it was analysed.
  std::vector<ColumnRange> columns;
  /// How its rows are summed up; null: before the columns are where they belong.
  std::unique_ptr<RowExchange> rows;
  /// Resident at the first plan, but for the matrix.
  std::optional<Bytes> beside_matrix;
  /// Of the matrix, by columns, while mappings are compared.
  std::vector<std::int64_t> entries_before;
};

}  // namespace espalier::solver
