#pragma once

#include <optional>

#include "cli/options.h"
#include "espalier/machine/memory_limits.h"

namespace espalier::cli {

/// Says on standard error that what is around this process leaves less than its bound: it
/// may be ended by the system while its bound is kept. Nothing where it leaves as much,
/// and of "auto", which is what it leaves.
/// @param room  of this process
void note_limits(const MemoryRequest& memory, std::optional<Bytes> bound,
                 const MemoryRoom& room = memory_room());

}  // namespace espalier::cli
