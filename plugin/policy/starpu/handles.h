#pragma once

#include <starpu.h>

#include <optional>
#include <vector>

#include "policy/core/submission_gate.h"

namespace espalier::policy {

/// What the policy reads off StarPU's tasks and data handles. Nothing is cached and
/// nothing called under a lock.

/// Whether the task passes through a policy: it has a codelet that runs somewhere.
[[nodiscard]] bool is_executed(const starpu_task& task);

/// The copies of a handle for each worker, for scratch and reductions: a datum of their
/// own, which has this name.
[[nodiscard]] const void* copies_of(starpu_data_handle_t handle);

/// The task's data that take main memory which StarPU allocates, each once.
///
///   home node in main memory     nothing: the application allocated it
///   scratch                      copies: its size for each worker
///   reduction                    copies, and itself unless at home in main memory
///   any other                    its size, unless it is in memory
void data_of(const starpu_task& task, unsigned workers, std::vector<DataAccess>& data);

/// Whether the task contributes to a reduction.
[[nodiscard]] bool contributes(const starpu_task& task);

/// Whether StarPU may let the task overtake others that work on the same data, or be
/// overtaken (STARPU_COMMUTE).
[[nodiscard]] bool commutes(const starpu_task& task);

/// Adds the copies of what the task works on otherwise, with no size and as if they were
/// in memory: where they are known, StarPU reduces them before the task starts.
void add_copies(const starpu_task& task, std::vector<DataAccess>& data);
/// The same of a message on the handle. StarPU keeps copies as long as their datum, and
/// so as long as anything works on that.
void add_copies(starpu_data_handle_t handle, std::vector<DataAccess>& data);

/// Whether it is one of StarPU's own tasks that reduce copies. These are submitted late,
/// when a task that waits for the result would start; recognised by their names.
[[nodiscard]] bool is_reduction(const starpu_task& task);

/// The same as data_of() for a message, which works on the handle in main memory; nullopt
/// when that costs nothing.
[[nodiscard]] std::optional<DataAccess> datum_of(starpu_data_handle_t handle);

/// Something in the application's memory.
struct OwnDatum {
  const void* begin;
  Bytes extent;  ///< to its last byte
  Bytes bytes;   ///< of these, those that belong to it
};
/// The task's data that the application allocated itself. Those that this thread was told
/// of lately may be left out.
void application_data_of(const starpu_task& task, std::vector<OwnDatum>& data);

/// Where the task's data are in main memory now, for those that are: all blocks of one
/// after the other, as far as its interface is one of StarPU's.
void places_of(const starpu_task& task, std::vector<DataAccess>& places);

/// The handle whose memory is freed once the internal task has run, which StarPU submits
/// for starpu_data_unregister_submit() and starpu_data_invalidate_submit() and which
/// names no handle; nullptr for any other task.
///
/// StarPU passes such a task the record of an acquisition, whose first three members have
/// been handle, mode and node in every version from 1.3.10 to master of 2026; the task is
/// recognised by its name (docs/decisions/0020).
[[nodiscard]] starpu_data_handle_t released_by(const starpu_task& task);

/// The name of another policy than this one that a scheduling context has; nullptr when
/// there is none.
[[nodiscard]] const char* other_policy();

/// The task's name, or its codelet's, for messages; never nullptr.
[[nodiscard]] const char* name_of(const starpu_task& task);

}  // namespace espalier::policy
