#include "solver/distributed/move_columns.h"

#include <algorithm>
#include <utility>

#include "solver/distributed/distribute.h"

namespace espalier::solver {
namespace {

// Columns [begin, end) that go from one process to another, or stay.
struct Move {
  std::int32_t begin, end, from, to;
};

// In order; where either of the ranges ends a move does.
std::vector<Move> moves_between(std::span<const ColumnRange> from,
                                std::span<const ColumnRange> to) {
  std::vector<Move> moves;
  for (std::size_t i = 0, k = 0; i < from.size() && k < to.size();) {
    const std::int32_t begin = std::max(from[i].begin, to[k].begin);
    const std::int32_t end = std::min(from[i].end, to[k].end);
    if (begin < end) moves.push_back({begin, end, from[i].owner, to[k].owner});
    (from[i].end < to[k].end ? i : k) += 1;
  }
  return moves;
}

// Starts of the columns when those of the others are empty.
std::vector<std::int64_t> own_starts(std::span<const std::int64_t> before,
                                     std::span<const ColumnRange> ranges,
                                     std::int32_t process) {
  std::vector<std::int64_t> start(before.size(), 0);
  for (const ColumnRange& range : ranges)
    for (std::int32_t j = range.begin; j < range.end; ++j)
      start[j + 1] = start[j] + (range.owner == process ? before[j + 1] - before[j] : 0);
  return start;
}

// One list of entries. All processes go through the moves in one order, so that blocking
// messages always meet.
template <class T>
void move_list(Communicator& communicator, std::span<const Move> moves,
               std::span<const std::int64_t> old_start,
               std::span<const std::int64_t> new_start, std::vector<T>& list) {
  const std::int32_t me = communicator.rank();
  std::vector<T> moved(static_cast<std::size_t>(new_start.back()));
  for (const Move& move : moves) {
    const auto part = [&](auto& all, std::span<const std::int64_t> start) {
      return std::span(all).subspan(
          static_cast<std::size_t>(start[move.begin]),
          static_cast<std::size_t>(start[move.end] - start[move.begin]));
    };
    const bool gives = move.from == me, takes = move.to == me;
    if (gives && takes)
      std::ranges::copy(part(std::as_const(list), old_start),
                        part(moved, new_start).begin());
    else if (gives && !part(list, old_start).empty())
      send(communicator, part(std::as_const(list), old_start), move.to,
           MessageTag::kMatrix);
    else if (takes && !part(moved, new_start).empty())
      receive(communicator, part(moved, new_start), move.from, MessageTag::kMatrix);
  }
  list = std::move(moved);
}

}  // namespace

// Counts as numbers that sum() takes: exact below 2^53.
std::vector<std::int64_t> entries_before_columns(Communicator& communicator,
                                                 const SquareMatrix& here,
                                                 std::int32_t size) {
  const std::vector<std::int64_t>& start = here.lower.column_start;
  std::vector<double> count(static_cast<std::size_t>(size), 0.0);
  for (std::int32_t j = 0; j < size && !start.empty(); ++j)
    count[j] = static_cast<double>(start[j + 1] - start[j]);
  communicator.sum(count);
  std::vector<std::int64_t> before(1, 0);
  before.reserve(count.size() + 1);
  for (const double each : count)
    before.push_back(before.back() + static_cast<std::int64_t>(each));
  return before;
}

void move_columns(Communicator& communicator, std::span<const ColumnRange> from,
                  std::span<const ColumnRange> to, SquareMatrix& permuted) {
  if (std::ranges::equal(from, to)) return;
  const std::vector<Move> moves = moves_between(from, to);
  std::vector<std::int64_t> start =
      own_starts(entries_before_columns(communicator, permuted, permuted.size()), to,
                 communicator.rank());
  const std::vector<std::int64_t>& old_start = permuted.lower.column_start;
  const ValueLists lists{
      .opposite = communicator.largest(std::int64_t{!permuted.symmetric()}) != 0,
      .imaginary = permuted.complex.has_value()};
  for_each_list(permuted, lists, [&](auto& list) {
    move_list(communicator, moves, old_start, start, list);
  });
  permuted.lower.column_start = std::move(start);
}

}  // namespace espalier::solver
