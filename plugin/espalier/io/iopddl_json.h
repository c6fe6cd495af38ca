#pragma once

#include <istream>
#include <string>

#include "espalier/model/sharding_problem.h"

namespace espalier {

/// Reads an instance of the ASPLOS 2025 / EuroSys 2025 contest on intra-operator
/// parallelism (IOPDDL):
///
///   {"problem": {"name": "…",
///     "nodes": {"intervals": [[0, 2], …], "costs": [[0, 3], …], "usages": [[4, 2], …]},
///     "edges": {"nodes": [[0, 1], …], "costs": [[0, 5, 7, 1], …]},
///     "usage_limit": 10}}
///
/// `intervals` and `usages` may be missing together with `usage_limit`: then memory does
/// not matter. A null or missing `usage_limit` is none. Members beside `problem` are left
/// out; others inside it are refused.
///
/// @param name  stands for the stream in messages
/// @throws FileError with the line for what is no JSON; with the member and the value for
///         what is not the format, as problem.nodes.costs[3][1], and for all that
///         ShardingProblem refuses
/// @par Cost  O(text) time and memory
[[nodiscard]] ShardingProblem read_iopddl(std::istream& in, const std::string& name);

}  // namespace espalier
