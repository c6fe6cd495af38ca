#pragma once

#include <functional>

namespace espalier::cli {

/// What the program makes sure of, whatever it was started in. Before the first library
/// starts threads or opens files:
///   - a standard stream that is closed (`>&-`) is open, and can be neither read nor
///     written: no other file gets its number and what the program prints
///   - a thread has a stack of 2 MiB at least, what the C library takes where there is no
///     limit. The least limit (`ulimit -s 64`) would be the stack of every thread, and
///     the kernels' panels are as large.

/// Calls `work`, by a thread of its own where the stack of this one may not grow so far.
/// @throws what `work` throws, std::system_error when no thread can be started
[[nodiscard]] int with_enough_stack(const std::function<int()>& work);

}  // namespace espalier::cli
