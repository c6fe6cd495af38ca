#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "espalier/solver/budget.h"

// Limits that count what a process has mapped, resident or not: RLIMIT_AS (ulimit -v) and
// RLIMIT_DATA (ulimit -d), which batch systems set. BLAS asks again for ever when it gets
// no buffer, and StarPU aborts when it gets no thread, so that both are asked for before.

namespace espalier::solver {

/// What StarPU and its workers map when they start: for each a buffer of BLAS, a stack,
/// what StarPU and the heap keep for a thread.
[[nodiscard]] Bytes runtime_address_space(std::int32_t workers);

/// Whether there is any: where not, nobody needs to find out what is needed.
[[nodiscard]] bool has_address_limit();

/// What the limits leave beside what is mapped, not negative; none: there is no limit.
[[nodiscard]] std::optional<Bytes> address_space_left();

/// @param bytes  that are to be mapped beside what is there; less than 1 MiB is not asked
///               for, since the heap says by itself when it has no more
/// @param what   "2 workers take 290.0 MiB"
/// @throws MemoryLimit naming the limit, what is left and what is needed; nothing where
///         no limit is set
/// @par Test  AddressSpace.IsFoundOutBeforeAnythingStarts
void check_address_space(Bytes bytes, const std::function<std::string()>& what);

}  // namespace espalier::solver
