#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "solver/matrix/offsets.h"
#include "solver/matrix/unset_vector.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {

/// Lists of numbers: that of k is item[start[k]] … item[start[k + 1] - 1].
struct Lists {
  UnsetVector<std::int64_t> start;
  UnsetVector<std::int32_t> item;
};

/// Items that sources send to targets, by targets: of each those of source 0 first, in
/// the order of sending. A sparse matrix is transposed like that.
///
/// Sources and targets are cut into ranges. What goes from range to range is counted,
/// written to one place, and dealt out among the targets of a range, so that ranges are
/// worked on at the same time, and one at a time stays in the cache.
///
///   example: 0 sends 7 to 1; 1 sends 5 to 0 and 6 to 1:  start = 0 1 3, item = 5 7 6
///
/// @param send  send(source, emit) calls emit(target, item) for each, twice the same
/// @param room  for so many items at least memory is taken for them
/// @par Cost  O(sources + targets + items); where there are several ranges 8 bytes an
///            item beside the result, up to 8 GiB: more items are dealt out one by one
/// @par Test  ListsByTarget.*
template <class Send>
[[nodiscard]] Lists lists_by_target(std::int32_t sources, std::int32_t targets,
                                    TaskPool& pool, const Send& send,
                                    std::int64_t room = 0);

/// Ranges of numbers that depend on their count alone: at most 256 of a power of two.
class NumberRanges {
 public:
  explicit NumberRanges(std::int32_t numbers) : numbers_(numbers) {
    while (numbers_ >> shift_ >= kMost) ++shift_;
  }
  [[nodiscard]] std::int64_t count() const { return (numbers_ >> shift_) + 1; }
  [[nodiscard]] std::int64_t of(std::int32_t number) const { return number >> shift_; }
  /// Of range k; of range count(): one behind the last number.
  [[nodiscard]] std::int32_t first(std::int64_t k) const {
    return static_cast<std::int32_t>(std::min(numbers_, k << shift_));
  }

 private:
  static constexpr std::int64_t kMost = 256;
  std::int64_t numbers_;
  int shift_ = 14;
};

namespace lists_by_target_detail {

struct Sent {
  std::int32_t target, item;
};
constexpr std::int64_t kMostSent = std::int64_t{1} << 30;  // 8 GiB beside the result

// Between one range of sources and one of targets: no ranges are needed.
template <class Send>
Lists direct(std::int32_t sources, std::int32_t targets, const Send& send,
             std::int64_t room) {
  Lists lists{UnsetVector<std::int64_t>(targets + 1LL, 0), {}};
  for (std::int32_t source = 0; source < sources; ++source)
    send(source, [&](std::int32_t target, std::int32_t) { ++lists.start[target + 1]; });
  counts_to_starts(lists.start);
  lists.item.reserve(std::max(room, lists.start.back()));
  lists.item.resize(lists.start.back());
  for (std::int32_t source = 0; source < sources; ++source)
    send(source, [&](std::int32_t target, std::int32_t item) {
      lists.item[lists.start[target]++] = item;
    });
  cursors_to_starts(lists.start);
  return lists;
}

// Deals out what came for a range of targets: their lists stand from `begin` on.
inline void deal_out(const Sent* from, const Sent* to, std::int64_t begin,
                     std::int32_t first, std::int32_t last, Lists& lists) {
  std::fill(lists.start.begin() + first + 1, lists.start.begin() + last + 1, 0);
  for (const Sent* each = from; each != to; ++each) ++lists.start[each->target + 1];
  std::int64_t at = begin;  // start[target + 1]: a cursor, which ends where it should
  for (std::int32_t target = first; target < last; ++target)
    at += std::exchange(lists.start[target + 1], at);
  for (const Sent* each = from; each != to; ++each)
    lists.item[lists.start[each->target + 1]++] = each->item;
}

}  // namespace lists_by_target_detail

template <class Send>
Lists lists_by_target(std::int32_t sources, std::int32_t targets, TaskPool& pool,
                      const Send& send, std::int64_t room) {
  namespace detail = lists_by_target_detail;
  const NumberRanges from(sources), to(targets);
  if (to.count() == 1) return detail::direct(sources, targets, send, room);
  std::vector<std::vector<std::int64_t>> place(from.count());  // by ranges of targets
  pool.for_each_block(from.count(), [&](std::int64_t k) {
    place[k].assign(to.count(), 0);
    for (std::int32_t source = from.first(k); source < from.first(k + 1); ++source)
      send(source, [&](std::int32_t target, std::int32_t) { ++place[k][to.of(target)]; });
  });
  std::vector<std::int64_t> begin(to.count() + 1, 0);
  std::int64_t items = 0;
  for (std::int64_t t = 0; t < to.count(); ++t) {
    for (auto& of_sources : place) items += std::exchange(of_sources[t], items);
    begin[t + 1] = items;
  }
  if (items > detail::kMostSent) return detail::direct(sources, targets, send, room);
  const auto sent = std::make_unique_for_overwrite<detail::Sent[]>(items);
  pool.for_each_block(from.count(), [&](std::int64_t k) {
    for (std::int32_t source = from.first(k); source < from.first(k + 1); ++source)
      send(source, [&](std::int32_t target, std::int32_t item) {
        sent[place[k][to.of(target)]++] = {target, item};
      });
  });
  Lists lists{UnsetVector<std::int64_t>(targets + 1LL), UnsetVector<std::int32_t>()};
  lists.start.front() = 0;
  lists.item.reserve(std::max(room, items));
  lists.item.resize(items);
  pool.for_each_block(to.count(), [&](std::int64_t t) {
    detail::deal_out(sent.get() + begin[t], sent.get() + begin[t + 1], begin[t],
                     to.first(t), to.first(t + 1), lists);
  });
  return lists;
}

}  // namespace espalier::solver
