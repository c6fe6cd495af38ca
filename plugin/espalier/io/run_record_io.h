#pragma once

#include <iosfwd>
#include <string>

#include "espalier/model/run_record.h"

namespace espalier {

/// Writes a run as JSON:
///
///   {"format": "espalier run", "version": 1,
///    "input": "A.mtx", "operation": "spd", "order": "liu", "mapping": "memory-aware",
///    "workers": 1, "seconds": 1.5, "overhead_seconds": 4e-6, "bound_bytes": null,
///    "nodes": [{"parent": 2, "output_bytes": 4096, "execution_bytes": 0,
///               "retained_bytes": 8192, "work_flops": 1e6, "max_workers": 1}, …],
///    "tasks": [{"node": 0, "kind": "update", "front": 7, "column": 3, "row": 4,
///               "source": 1, "worker": 0, "priority": 9, "start": 0.25, "seconds": 1e-3,
///               "processor_seconds": 1e-3, "taken_bytes": 0, "kept_bytes": 0,
///               "after": [5, 6]}, …]}
///
/// "parent" is null for a root; "front", "column", "row" and "source" are left out where
/// they do not apply; "after" are places in "tasks", each before the task's own.
/// @throws FileError
void write_run_record(const std::string& path, const RunRecord& run);
void write_run_record(std::ostream& out, const RunRecord& run);

/// Reads what write_run_record() writes. Members come in any order; what the format does
/// not have is ignored, so that a later version may add to it.
///
/// @throws FileError naming the file and the member, "tasks[3].seconds", with its value,
///         for anything else: no JSON (with the line), another format or version, a
///         member that is missing or of another type, a node, parent or task that does
///         not exist, a task that would wait for itself or a later one, a time that is
///         negative, sizes whose sum leaves the 64-bit range
/// @par Cost  O(text) time and memory
[[nodiscard]] RunRecord read_run_record(const std::string& path);
[[nodiscard]] RunRecord read_run_record(std::istream& in, const std::string& name);

}  // namespace espalier
