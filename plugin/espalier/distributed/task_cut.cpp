#include "espalier/distributed/task_cut.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {

Bytes fraction_of(Bytes total, std::int64_t pieces, std::int64_t all) {
  Bytes product = 0;
  if (!__builtin_mul_overflow(total, pieces, &product)) return product / all;
  __extension__ using Wide = __int128;
  return static_cast<Bytes>(static_cast<Wide>(total) * pieces / all);
}

std::vector<std::int32_t> piece_counts(const TaskTree& tree,
                                       std::span<const std::int32_t> most_parts) {
  std::vector<std::int32_t> counts(most_parts.begin(), most_parts.end());
  if (most_parts.empty()) {
    counts.resize(tree.size());
    constexpr Bytes kMost = 1 << 30;
    for (std::size_t i = 0; i < tree.size(); ++i) {
      const Bytes whole = tree.output_size(task_id(i)) + tree.retained_size(task_id(i));
      counts[i] =
          static_cast<std::int32_t>(std::clamp<Bytes>(whole / kLeastPiece, 1, kMost));
    }
  }
  if (counts.size() != tree.size()) {
    throw InvalidInput(fmt::format("numbers of pieces are given for {} tasks of {}",
                                   counts.size(), tree.size()));
  }
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] >= 1) continue;
    throw InvalidInput(fmt::format("task {} cannot be cut into {} pieces", i, counts[i]));
  }
  return counts;
}

TaskCut::Part TaskCut::part(std::int32_t first, std::int32_t count, Bytes held) const {
  const auto cut = [&](Bytes total) { return piece_bytes(total, first, count, pieces); };
  Part part{cut(output), 0, cut(retained)};
  if (execution >= 0) {
    part.execution = cut(execution);
  } else {
    const Bytes by_pieces = fraction_of(-execution, count, pieces);
    const Bytes by_input = input == 0 ? 0 : fraction_of(-execution, held, input);
    // Rounding must not take more than the part has.
    part.execution = -std::min({by_pieces, by_input, part.output + part.retained, held});
  }
  if (count > 0) part.execution = checked_add(part.execution, buffer);
  return part;
}

TaskCut cut_task(const TaskTree& tree, TaskId task, std::int32_t pieces,
                 std::int32_t takes_part) {
  TaskCut cut{tree.output_size(task), tree.retained_size(task), tree.execution_size(task),
              tree.input_size(task), pieces};
  if (takes_part <= 1) return cut;
  Bytes message = 0;
  for (const TaskId child : tree.children(task)) {
    message = std::max(message, std::min(kLeastPiece, tree.output_size(child)));
  }
  const Bytes whole = cut.output + cut.retained;
  const Bytes piece = pieces == 1 ? 0 : whole / pieces + (whole % pieces != 0 ? 1 : 0);
  cut.buffer = checked_mul(2, std::max(message, piece));
  return cut;
}

}  // namespace espalier
