#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace espalier::cli {

/// What must be the same in all processes beyond what the caller names, as "name=value"
/// lines: byte order, sizes of numbers, versions of StarPU, StarPU-MPI and MPI, time
/// limit of the FailureDetector.
[[nodiscard]] std::string identity_of_build(double timeout_seconds);

/// The first difference between what rank 0 and the others are, by rank and then by line.
/// @param identities of every process, "name=value" lines
/// @param hosts of every process
/// @return ranks, hosts, and the line in both; nothing when all are the same
[[nodiscard]] std::optional<std::string> first_difference(
    std::span<const std::string> identities, std::span<const std::string> hosts);

}  // namespace espalier::cli
