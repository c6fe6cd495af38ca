#pragma once

#include <cstdint>
#include <string>

#include "espalier/model/units.h"

namespace espalier::policy {

/// Where data are evicted to, and how much has been.
struct SpillFigures {
  std::string directory;  ///< "": nowhere
  Bytes written = 0, read = 0;
  std::int64_t writes = 0, reads = 0;
};

/// Has StarPU swap to a new directory in `directory`, or to where STARPU_DISK_SWAP says
/// if that is set, and counts what goes there and comes back. Before StarPU registers its
/// swap, which it does after the policies have been started.
///
/// StarPU makes a file for each datum and removes it when the datum is freed. The new
/// directory, readable by its owner alone, is removed with all in it when StarPU shuts
/// down, and by remove_spilled() when the process is stopped before.
///
/// What is counted passes through StarPU's backends "unistd" (which it takes by itself),
/// "stdio" and "unistd_o_direct" (STARPU_DISK_SWAP_BACKEND); by others nothing is.
///
/// @throws FileError when there can be no directory
/// @par Test  Spill.*
void prepare_spilling(const std::string& directory);

/// Whether StarPU has been given a place by prepare_spilling().
[[nodiscard]] bool spills() noexcept;

/// Since prepare_spilling(); empty before.
[[nodiscard]] SpillFigures spill_figures();

/// How far writing and reading are.
struct SpillProgress {
  std::int64_t operations = 0;  ///< begun since prepare_spilling()
  Bytes latest = 0;             ///< of the one begun last
};
[[nodiscard]] SpillProgress spill_progress() noexcept;

/// Removes what has been spilled, before the process is stopped.
void remove_spilled() noexcept;

}  // namespace espalier::policy
