#pragma once

#include <cstdint>

namespace espalier {

/// Starts so many threads, all at once, and ends them: libraries that start threads end
/// the process where the system gives them none.
/// @throws Error with the system's reason, how many there are and `ulimit -u`
void check_thread_room(std::int32_t threads);

}  // namespace espalier
