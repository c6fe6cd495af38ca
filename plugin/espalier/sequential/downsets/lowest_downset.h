#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// The tasks between two downsets: `lower` and, with all of `tasks`, `upper`.
struct DownsetInterval {
  std::span<const std::int32_t> tasks;
  /// Readers of a datum outside `upper`.
  std::function<std::int32_t(std::int32_t datum)> unread_above;
};

/// Finds downsets of least level v between two others.
///
/// Leaving a task out or taking it in, a datum free or still there: a minimum cut [PQ82].
/// The source side of the cut is the downset and, for each datum that is freed inside the
/// interval, whether it is free. With p the producer and r the readers of the datum:
///   p -> free (size), free -> r (infinite)    the datum is there unless all r have run
///   p -> sink (size)                          the datum outlives the interval
///   task -> predecessor (infinite)            the source side is a downset
/// with the source in place of producers below the interval. The flow is found by
/// shortest augmenting paths in layers [Din70].
/// @par Cost  that of a maximum flow over the tasks and data of the interval
/// @par Test  LowestDownset.MatchesBruteForceBetweenAnyTwoDownsets
class LowestDownset {
 public:
  /// @param stop  asked now and then; when true, between() finds an empty downset
  explicit LowestDownset(const BlockIndex& block, std::function<bool()> stop = {});

  /// The tasks of the interval that belong to the downset, in the order of the interval.
  /// @param largest  of all such downsets the one that holds the others; else the one
  ///                 that is held by all
  [[nodiscard]] std::vector<std::int32_t> between(const DownsetInterval& interval,
                                                  bool largest);

 private:
  struct Arc {
    std::int32_t to;
    Bytes room;
  };

  void build(const DownsetInterval& interval);
  void add_datum(std::int32_t datum, const DownsetInterval& interval);
  void connect(std::int32_t from, std::int32_t to, Bytes room);
  std::int32_t add_node();
  [[nodiscard]] bool layer();
  [[nodiscard]] bool push_through_layers();
  [[nodiscard]] std::vector<bool> source_side(bool largest) const;

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::int32_t node_of(std::int32_t task) const { return node_[at(task)]; }

  const BlockIndex* block_;
  std::function<bool()> stop_;
  std::vector<std::int32_t> node_;     // by task, -1: outside the interval
  std::vector<std::int32_t> seen_in_;  // by datum: the last build that met it
  std::int32_t builds_ = 0;
  std::vector<std::vector<std::int32_t>> leaving_;  // by node: arcs, k and k^1 opposite
  std::vector<Arc> arcs_;
  std::vector<std::int32_t> depth_;
  std::vector<std::size_t> next_arc_;
};

/// Of the downsets of least level the smallest.
/// @param stop  asked now and then; when true, the result is empty
[[nodiscard]] std::vector<std::int32_t> lowest_downset(
    const BlockIndex& block, const std::function<bool()>& stop = {});

}  // namespace espalier
