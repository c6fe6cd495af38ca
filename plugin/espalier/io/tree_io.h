#pragma once

#include <cstdint>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier {

/// A tree from a file, with the ids that the file gives its tasks.
struct TreeFile {
  TaskTree tree;
  std::vector<std::int64_t> ids;  ///< by task; tasks are numbered by line
};

/// Reads a task tree or a forest, one line a task, in any order:
///
///   # id  parent  output_size  execution_size  work  [retained_size]
///   7     9       4096         0               1.5e6
///   9     -1      128          64              2e6   512
///
/// Ids are distinct non-negative 64-bit integers; parent -1 is a root; sizes are integers
/// in bytes, work a number of flops, none negative but execution sizes, which may be
/// where an output takes the place of inputs (Task::execution_size). '#' starts a
/// comment, blank lines are skipped, lines end in LF or CR LF and are at most 64 KiB
/// long. A byte order mark (UTF-8) at the start is skipped.
///
/// @throws FileError with the line for anything else: too few or too many fields, not a
///         number, negative, out of range, an id twice, an unknown parent, a cycle, sizes
///         whose sum leaves the 64-bit range, works whose sum is above 1e250; also for
///         a file that cannot be read or holds no task
/// @par Cost  O(n), and O(n log n) when ids are much larger than n; about 100 bytes a
/// task
[[nodiscard]] TreeFile read_tree(const std::string& path);

/// The same from a stream; `name` stands for the path in messages.
[[nodiscard]] TreeFile read_tree(std::istream& in, const std::string& name);

/// Writes what read_tree() reads. `ids` by task; empty: the task's own number. The column
/// of retained sizes is left out when all are 0. @throws FileError
void write_tree(const std::string& path, const TaskTree& tree,
                std::span<const std::int64_t> ids = {});
void write_tree(std::ostream& out, const TaskTree& tree,
                std::span<const std::int64_t> ids = {});

/// Writes an order of tasks, one id a line. @throws FileError
void write_order(const std::string& path, std::span<const TaskId> order,
                 std::span<const std::int64_t> ids = {});

}  // namespace espalier
