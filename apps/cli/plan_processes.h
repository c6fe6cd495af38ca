#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/cli_types.h"
#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/plan_input.h"
#include "espalier/distributed/distribute.h"

namespace espalier::cli {

/// What plan --processes asks for.
struct ProcessesRequest {
  std::vector<std::int32_t>
      processes;  ///< one, or a list for the table; empty: no request
  std::optional<MemoryRequest> memory;  ///< of each process; none: min
  std::int32_t workers = 1;             ///< of each process
  Network network;
  DistributedMapping mapping = DistributedMapping::kMemoryAware;
  std::string schedule;  ///< a file for groups and witness; empty: none
  bool json = false;
};

/// --processes, --memory-per-process and --network. @return --processes
CLI::Option* add_processes(CLI::App& app, ProcessesRequest& request);

/// "2us,10GB/s": seconds with ns, us, ms or s, and bytes a second.
/// @throws InvalidInput for anything else
void parse_network(std::string_view text, Network& network);

/// One number of processes: what each needs, the simulated run and what it sends. In the
/// file, one line a task, in witness order: id, first process, number of processes.
///
/// A list: the least bound per process that each mapping finds, beside P, and what it is
/// worth: least(P) P / least(1), 1 where memory scales.
///
/// Tasks of a tree file can be cut into pieces of kLeastPiece, fronts of a matrix as well
/// if several workers can use them.
///
/// @param report    what is said of the input
/// @param progress  is reset before anything is printed
/// @return kNo when the bound is below what the mapping finds
/// @throws FileError when the schedule cannot be written
[[nodiscard]] Ending plan_processes(const PlanInput& input,
                                    const ProcessesRequest& request, Report report,
                                    std::optional<Progress>& progress);

}  // namespace espalier::cli
