#pragma once

// What the user of an unmodified program chooses, by environment variables.

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>

#include "espalier/machine/platform.h"
#include "espalier/model/units.h"

namespace espalier::policy {

/// What happens when it turns out in the middle of a run that the bound cannot be kept.
enum class Overflow {
  kAbort,  ///< the program stops with a message
  kWarn,   ///< it goes on over the bound, with a message
  kDisk,   ///< data is written to the spill directory
};

struct Settings {
  std::optional<Bytes> memory;              ///< ESPALIER_MEMORY: the bound, positive
  Overflow on_overflow = Overflow::kAbort;  ///< ESPALIER_ON_OVERFLOW=abort|warn|disk
  std::string spill_directory = "/tmp";     ///< ESPALIER_SPILL_DIR, else TMPDIR
  /// ESPALIER_WINDOW: tasks that may be submitted and not have ended; 0: any number.
  /// nullopt: 500 a worker, at least 1000, with a bound, and any number without
  std::optional<std::size_t> window;
  /// ESPALIER_IDLE_SLEEP: microseconds that a worker sleeps between looks for a task that
  /// found none. nullopt: idle_sleep() decides
  std::optional<std::chrono::microseconds> idle_sleep;
  std::string report;  ///< ESPALIER_REPORT: "" (none), "-" (standard error) or a file
  std::string trace;   ///< ESPALIER_TRACE: "" (none) or a file
};

/// Looks a variable up, as getenv does: nullptr when it is not set.
using Environment = std::function<const char*(const char*)>;

/// The environment of this process.
[[nodiscard]] const char* process_environment(const char* name);

/// A variable that is not set or empty leaves its default.
///
/// In the names of the two files `%p` is the process id, `%r` the MPI rank (0 when there
/// is none) and `%%` a percent sign. A name without `%p` and `%r` gets `.RANK` before its
/// extension in an MPI job of several processes, so that these do not overwrite each
/// other's files: run.json, run.0.json, run.1.json. Where the size of the job is not
/// known, rank 0 keeps the plain name.
///
/// @throws InvalidInput naming the variable and the value
[[nodiscard]] Settings read_settings(const Environment& get);

/// Rank of this process in its MPI job, as Open MPI, PMIx, MPICH (PMI) or Slurm left it
/// in the environment; nullopt when none did.
[[nodiscard]] std::optional<int> mpi_rank(const Environment& get);

/// How long a worker that finds no task sleeps before it looks again: as
/// ESPALIER_IDLE_SLEEP says, else 50 us where an MPI job of several processes on this
/// host, with `workers` and one thread for messages each, is_crowded(), and not at all
/// elsewhere: looking without a pause starts tasks soonest, and takes cores from whoever
/// computes.
[[nodiscard]] std::chrono::microseconds idle_sleep(const Environment& get,
                                                   std::size_t workers, CoreShare cores);

/// Finds out before a run that a file could not be written after it. Creates the file if
/// it does not exist and leaves it alone if it does.
///
/// @throws FileError
void check_writable(const std::string& path);

}  // namespace espalier::policy
