#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// The tasks between two downsets: `lower` and, with all of `tasks`, `upper`.
struct DownsetInterval {
  std::span<const BlockTaskId> tasks;
  /// Readers of a datum outside `upper`.
  std::function<std::int32_t(BlockDatumId datum)> unread_above;
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
  [[nodiscard]] std::vector<BlockTaskId> between(const DownsetInterval& interval,
                                                 bool largest);

 private:
  enum class NodeId : std::int32_t {};
  enum class ArcId : std::int32_t {};
  static constexpr NodeId kNoNode{-1}, kSource{0}, kSink{1};
  struct Arc {
    NodeId to;
    Bytes room;
  };

  void build(const DownsetInterval& interval);
  void add_datum(BlockDatumId datum, const DownsetInterval& interval);
  void connect(NodeId from, NodeId to, Bytes room);
  NodeId add_node();
  [[nodiscard]] static ArcId opposite(ArcId arc) {
    return ArcId{static_cast<std::int32_t>(arc) ^ 1};
  }
  [[nodiscard]] bool layer();
  [[nodiscard]] bool push_through_layers();
  [[nodiscard]] IdVector<NodeId, bool> source_side(bool largest) const;

  const BlockIndex* block_;
  std::function<bool()> stop_;
  IdVector<BlockTaskId, NodeId> node_;            // kNoNode: outside the interval
  IdVector<BlockDatumId, std::int32_t> seen_in_;  // the last build that met it
  std::int32_t builds_ = 0;
  IdVector<NodeId, std::vector<ArcId>> leaving_;
  IdVector<ArcId, Arc> arcs_;
  IdVector<NodeId, std::int32_t> depth_;
  IdVector<NodeId, std::size_t> next_arc_;
};

/// Of the downsets of least level the smallest.
/// @param stop  asked now and then; when true, the result is empty
[[nodiscard]] std::vector<BlockTaskId> lowest_downset(
    const BlockIndex& block, const std::function<bool()>& stop = {});

}  // namespace espalier
