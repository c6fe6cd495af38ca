#pragma once

namespace espalier::cli {

/// From now on SIGTERM ends the program at once, whatever handler a library sets for it.
///
/// METIS catches SIGTERM while it orders and jumps out of its handler, be it from inside
/// malloc, and on any thread. So the signal is blocked in all threads, from before the
/// first library starts one, and a thread of its own waits for it. A SIGTERM that was
/// ignored when the program started stays ignored.
///
/// Files that are being written go first, then also where SIGINT or SIGHUP end the
/// program. @throws std::system_error when no thread can be started
void end_by_termination_signal();

}  // namespace espalier::cli
