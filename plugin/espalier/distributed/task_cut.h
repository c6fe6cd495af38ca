#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/distributed/distribute.h"
#include "espalier/model/task_tree.h"

// What the parts of a task hold on the processes that take part in it.

namespace espalier {

/// floor(total * pieces / all), exact. 0 <= pieces <= all.
[[nodiscard]] Bytes fraction_of(Bytes total, std::int64_t pieces, std::int64_t all);

/// Bytes of the pieces first … first + count - 1 of a total cut into `all`.
[[nodiscard]] inline Bytes piece_bytes(Bytes total, std::int64_t first,
                                       std::int64_t count, std::int64_t all) {
  return fraction_of(total, first + count, all) - fraction_of(total, first, all);
}

/// Calls visit(owner, its first piece, number of pieces of all owners) for each owner.
template <class Visit>
void for_each_part(std::span<const Owner> owners, Visit&& visit) {
  std::int32_t all = 0, first = 0;
  for (const Owner& owner : owners) all += owner.pieces;
  for (const Owner& owner : owners) {
    visit(owner, first, all);
    first += owner.pieces;
  }
}

/// Calls visit(process, bytes) for what the owners of the children have of their outputs,
/// child by child, where it is not nothing.
/// @param owners_of  owners_of(child): of each child
template <class OwnersOf, class Visit>
void for_each_input(const TaskTree& tree, TaskId task, OwnersOf&& owners_of,
                    Visit&& visit) {
  for (const TaskId child : tree.children(task)) {
    const Bytes output = tree.output_size(child);
    for_each_part(owners_of(child),
                  [&](const Owner& owner, std::int32_t first, std::int32_t pieces) {
                    const Bytes bytes = piece_bytes(output, first, owner.pieces, pieces);
                    if (bytes > 0) visit(owner.process, bytes);
                  });
  }
}

/// `most_parts` of the options or what takes its place when it is empty.
/// @throws InvalidInput as distribute()
[[nodiscard]] std::vector<std::int32_t> piece_counts(
    const TaskTree& tree, std::span<const std::int32_t> most_parts);

/// A task as it is cut: `pieces` equal pieces, numbered by process, of which the owners
/// have consecutive ones. The bytes of a piece are rounded so that those of all sum up.
struct TaskCut {
  Bytes output = 0, retained = 0, execution = 0, input = 0;
  std::int32_t pieces = 1;
  /// Two pieces, or two messages with output of a child, at most kLeastPiece each,
  /// whichever is more: at each owner, for what arrives while the one before is in use.
  Bytes buffer = 0;

  struct Part {
    Bytes output = 0, execution = 0, retained = 0;
  };
  /// The part that consists of the pieces first … first + count - 1, on a process that
  /// holds `held` bytes of the children's outputs.
  ///
  /// A positive m is cut as f and r are, and the buffer comes on top. A negative m says
  /// how much of its inputs a task has given back when all it leaves is there; a process
  /// gives back as much as both its part of the inputs and its part of what is left
  /// allow: with a = held / inputs and b = count / pieces, m(p) = m min(a, b). That is
  /// enough as long as all processes proceed at the same pace.
  /// @throws OverflowError when part and buffer leave the 64-bit range
  [[nodiscard]] Part part(std::int32_t first, std::int32_t count, Bytes held) const;
};

/// @param pieces       that the task is cut into
/// @param takes_part   number of processes that own pieces or hold input; one: no buffer
[[nodiscard]] TaskCut cut_task(const TaskTree& tree, TaskId task, std::int32_t pieces,
                               std::int32_t takes_part);

}  // namespace espalier
