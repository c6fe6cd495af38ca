#pragma once

#include <optional>
#include <string>

#include "cli/options.h"
#include "cli/output.h"
#include "cli/remedy.h"
#include "espalier/machine/memory_limits.h"

namespace espalier::cli {

/// Says on standard error that what is around this process leaves less than its bound: it
/// may be ended by the system while its bound is kept. Nothing where it leaves as much,
/// and of "auto", which is what it leaves.
/// @param room  of this process
void note_limits(const MemoryRequest& memory, std::optional<Bytes> bound,
                 const MemoryRoom& room = memory_room());

/// Of an answer that the bound is too little: where it was "auto", whose limit it is.
/// @return to be said behind the answer
[[nodiscard]] std::string report_source(Report& report, const MemoryRequest& memory);

/// The command with a larger bound; none where it was "auto": the system grants no more.
[[nodiscard]] Remedy raise_memory(const MemoryRequest& memory, Bytes enough);

}  // namespace espalier::cli
