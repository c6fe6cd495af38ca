#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// What a choice costs, in the unit of whoever asks (time, mostly). Exact, so that an
/// optimum can be proved.
using Cost = std::int64_t;

/// A cost of this or more means: not allowed.
inline constexpr Cost kForbidden = 1'000'000'000'000'000'000;

/// An operator, and the ways to place it on the machine.
struct ShardingNode {
  /// Its output is held during [from, to); empty where from >= to.
  std::int64_t from = 0, to = 0;
  std::vector<Cost> costs;    ///< by strategy, of its computation and communication
  std::vector<Bytes> usages;  ///< by strategy, of its output on one device
  friend bool operator==(const ShardingNode&, const ShardingNode&) = default;
};

/// Data that go from one operator to another.
struct ShardingEdge {
  std::int32_t first = 0, second = 0;  ///< two different nodes
  /// Of changing the layout: entry s * (strategies of `second`) + t, for s of `first`
  /// and t of `second`.
  std::vector<Cost> costs;
  friend bool operator==(const ShardingEdge&, const ShardingEdge&) = default;
};

/// The question of sharding: one strategy for each node, such that the sum of all costs
/// of nodes and edges is least and at each time the usages of the nodes that are held
/// then sum up to at most `limit`.
///
///     node 0: costs 0 3, usages 4 2, [0, 2)       edge 0-1: costs 0 5
///     node 1: costs 1 1, usages 4 3, [1, 3)                 7 1
///
/// Strategies 0, 0 cost 1 and hold 8 at time 1; 1, 1 cost 3 + 1 + 1 = 5 and hold 5; below
/// 5 there is no answer.
///
/// Several edges may join the same nodes. Immutable, and without answers.
class ShardingProblem {
 public:
  ShardingProblem() = default;

  /// @throws InvalidInput naming the node or edge and the value: no strategies, more or
  ///         fewer usages than costs, a negative cost or usage, an edge that names a node
  ///         that is not there or joins a node to itself, or with another number of costs
  ///         than its ends have pairs of strategies; a negative limit; more than 2^31 - 1
  ///         of anything. OverflowError when the sum of all largest allowed costs reaches
  ///         kForbidden, or the sum of all largest usages leaves the 64-bit range: no
  ///         sum of a choice can then overflow
  ShardingProblem(std::vector<ShardingNode> nodes, std::vector<ShardingEdge> edges,
                  Bytes limit);

  [[nodiscard]] std::span<const ShardingNode> nodes() const { return nodes_; }
  [[nodiscard]] std::span<const ShardingEdge> edges() const { return edges_; }
  [[nodiscard]] Bytes limit() const { return limit_; }

 private:
  std::vector<ShardingNode> nodes_;
  std::vector<ShardingEdge> edges_;
  Bytes limit_ = 0;
};

/// The answer to a ShardingProblem.
struct ShardingChoice {
  bool found = false;                    ///< a choice within the limit
  std::vector<std::int32_t> strategies;  ///< by node, where one was found
  Cost cost = 0;                         ///< of the choice
  Cost lower_bound = 0;                  ///< no choice within the limit costs less
  Bytes memory_bytes = 0;                ///< the most that is held at one time
  /// Where none was found: the least that an allowed choice beyond the limit held, if
  /// any.
  std::optional<Bytes> least_memory_bytes = {};
  /// No choice at all holds less: the most that is held where each node holds its least.
  Bytes lower_bound_bytes = 0;
  bool impossible = false;  ///< proved: there is no choice within the limit
  bool stopped = false;     ///< time or the caller ended the search

  [[nodiscard]] bool proved() const {
    return impossible || (found && cost == lower_bound);
  }
};

}  // namespace espalier
