#pragma once

#include <cstdint>
#include <string>

namespace espalier::solver {

/// The file that a process writes and reads of a factorisation that several save to
/// `path`; process 0 has the path itself.
[[nodiscard]] std::string part_path(const std::string& path, std::int32_t process);

}  // namespace espalier::solver
