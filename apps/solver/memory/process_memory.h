#pragma once

#include "espalier/model/units.h"

namespace espalier::solver {

/// The resident set of this process, as the system counts it: now (VmRSS) and at most
/// since the start or the last reset (VmHWM). @throws Error where /proc does not tell
[[nodiscard]] Bytes resident_bytes();
[[nodiscard]] Bytes peak_resident_bytes();
/// What is resident now to the page, where the system tells: what a bound starts from. As
/// costly as counted_rss(). @throws Error where /proc does not tell
[[nodiscard]] Bytes baseline_bytes();

/// By how much resident_bytes() may be too small; 2 MiB at least.
[[nodiscard]] Bytes counted_late();

/// Bytes that the heap has given out and not taken back, with what it keeps for each.
[[nodiscard]] Bytes heap_bytes();

/// Makes VmHWM start over from the present resident set. @return whether it could be done
bool reset_peak_resident();

/// Heap settings that keep freed memory out of the resident set: large blocks leave the
/// process when freed, and threads share one heap. Call first thing in main().
void keep_heap_small();
/// Until keep_heap_small() is called again: what is freed stays for what is asked for
/// next, up to `most` > 0 bytes at the heap's end. Fresh pages are dear on virtual
/// machines.
void keep_freed(Bytes most);
/// Gives what the heap holds in vain back to the system.
void trim_heap();

}  // namespace espalier::solver
