#pragma once

#include <starpu.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/checkpoint_action.h"
#include "espalier/model/units.h"
#include "training/chain/first_error.h"
#include "training/chain/slot_store.h"

namespace espalier::training {

/// A chain x_0 -> … -> x_N of states of one size, to be run backwards on StarPU.
struct Chain {
  std::int64_t steps = 0;  ///< N >= 1
  /// Sizes of the parts of a state, at least one, each positive: they lie one after the
  /// other in memory, and each has a handle of its own, so that the tasks of a step can
  /// work on parts.
  std::vector<Bytes> parts = {};
  /// Whether advance() can be given one buffer to read and to write.
  bool in_place = false;
  std::int32_t tasks_per_step = 1;  ///< about: what the window is measured in

  [[nodiscard]] Bytes state_bytes() const;  ///< @throws OverflowError
};

/// A state, or a buffer for one. Its memory stays where it is for the whole run.
struct StateBuffer {
  std::byte* data = nullptr;
  std::span<const starpu_data_handle_t> parts;
};

/// What the owner of the chain does. Each is called from the thread of run_chain(), in an
/// order that is correct as it is, and submits StarPU tasks that access the given parts
/// in the modes named here; StarPU's implicit dependencies do the rest. It may wait for
/// nothing, and may submit any number of tasks, on handles of its own too (the adjoint's,
/// for instance). Tasks whose error was kept in `errors` may leave everything as it is:
/// the run is given up. What a callback throws ends the run too.
struct ChainCallbacks {
  /// Writes x_0.
  std::function<void(const StateBuffer& to)> start;
  /// x_{step+1} from x_step: reads `from` (which stays as it is), writes `to`; in place
  /// where both are one.
  std::function<void(std::int64_t step, const StateBuffer& from, const StateBuffer& to)>
      advance;
  /// Backward step: reads x_step and turns the adjoint of x_{step+1} into that of x_step.
  /// For the last step, N - 1, which comes first, it makes the adjoint to start from.
  std::function<void(std::int64_t step, const StateBuffer& at)> backward;
  /// Called now and then with the forward steps that were submitted; true gives up.
  std::function<bool(std::int64_t advances)> stop;
};

/// Where states may be. The levels of a schedule are those that have slots: memory, then
/// another process's, then the disk.
struct ChainLimits {
  std::int64_t memory_slots = 1;
  std::int64_t disk_slots = 0;
  std::string directory = {};  ///< of the file that holds disk_slots
  std::int64_t remote_slots = 0;
  SlotStore* remote = nullptr;  ///< that holds remote_slots; outlives the run
  /// With slots outside: one buffer more, so that a state is written or read while the
  /// next is computed.
  bool overlap = true;
  std::int32_t window = 64;  ///< tasks that may be submitted ahead, about

  /// Not in this process's memory.
  [[nodiscard]] std::int64_t outer_slots() const { return remote_slots + disk_slots; }
};

/// What a run did.
struct ChainReport {
  std::int64_t advances = 0;  ///< forward steps, without those inside backward()
  std::int64_t reverses = 0;  ///< backward steps
  std::int64_t stores = 0;    ///< states stored in memory: no copy is made
  std::int64_t disk_stores = 0, disk_restores = 0;
  std::int64_t remote_stores = 0, remote_restores = 0;
  Bytes bytes_written = 0, bytes_read = 0;
  bool stopped = false;  ///< ChainCallbacks::stop said so
  Seconds seconds = 0;
};

/// Buffers for states that a run uses: one a slot in memory, the working state, one more
/// where a step cannot overwrite its input, and one for overlap with transfers.
[[nodiscard]] std::int64_t buffers_of(const Chain& chain, const ChainLimits& limits);
/// Memory of a run, fixed before its first step: whole pages for each buffer, and what
/// StarPU keeps for the handle of each part. While StarPU runs. @throws OverflowError
[[nodiscard]] Bytes memory_of(const Chain& chain, const ChainLimits& limits);
/// What StarPU keeps for a handle, in bytes of the heap.
[[nodiscard]] Bytes handle_bytes();

/// Runs a schedule. StarPU runs and is awake. All memory is taken and resident, and the
/// disk's space reserved, before the first step; actions are taken from the stream as
/// tasks end. At the return no task of the run is left, and nothing of the file.
///
/// @param schedule  of chain.steps steps, with no more slots than the limits
/// @throws InvalidInput for a schedule that uses a level, a slot or a tape that there is
///         not, FileError and Error when the directory, the disk, StarPU or a task fails
/// @par Test  the gradient is bitwise that of store-all for many levels and workers
[[nodiscard]] ChainReport run_chain(const Chain& chain, ActionStream& schedule,
                                    const ChainCallbacks& callbacks,
                                    const ChainLimits& limits, FirstError& errors);

}  // namespace espalier::training
