#pragma once

#include <string_view>

namespace espalier::cli {

/// "espalier: message" on standard error, in one piece, and without the lock of a stream
/// that the main thread may hold.
void print_last_words(std::string_view message);

/// Without destroying anything: other threads run on.
[[noreturn]] void end_process(int status);

}  // namespace espalier::cli
