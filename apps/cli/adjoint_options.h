#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/cli_types.h"
#include "cli/options.h"
#include "training/api/adjoint_job.h"

namespace espalier::cli {

/// What `espalier adjoint MODEL` was asked for.
struct AdjointOptions {
  std::string model;  ///< the name of the subcommand
  std::string grid;
  std::int64_t steps = 0;
  std::int32_t bands = 0;  ///< 0: chosen
  MemoryRequest memory{.kind = MemoryRequest::Kind::kUnbounded};
  bool workers_given = false;
  std::optional<std::int64_t> remote_slots;  ///< no value: as many as the bound allows
  bool json = false;
  training::AdjointOptions job;

  [[nodiscard]] bool bounded() const {
    return memory.kind != MemoryRequest::Kind::kUnbounded;
  }
  [[nodiscard]] bool on_disk() const { return !job.wish.directory.empty(); }
};

/// Options that every model has.
void add_adjoint_options(CLI::App& app, AdjointOptions& options, const char* grid,
                         std::int64_t steps);

/// Refuses what can be refused before the work.
/// @param app  whose options they are
/// @param together  on several processes
/// @throws InvalidInput, FileError naming the option and the value
void check(const AdjointOptions& options, const CLI::App& app, bool together);

}  // namespace espalier::cli
