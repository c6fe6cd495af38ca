#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace espalier::solver {

/// A graph through whose vertices something flows: from those that the source feeds to
/// those that the sink drains, no more than `capacity` through each.
struct FlowNetwork {
  std::vector<std::int32_t> start = {0};  ///< size + 1 offsets
  std::vector<std::int32_t> neighbour;    ///< each edge at both ends, lists ascending
  std::vector<std::int32_t> capacity;     ///< of each vertex, positive
  std::vector<bool> fed, drained;

  [[nodiscard]] std::int32_t size() const {
    return static_cast<std::int32_t>(capacity.size());
  }
};

/// A greatest flow, by shortest augmenting paths [Din70], and the least separators
/// between source and sink, which it fills. Each vertex is two nodes, one where it is
/// entered and one where it is left, with an arc of its capacity between them; what goes
/// from a vertex to its neighbours has no limit of its own:
///
///          b           a is fed and carries 2, d is drained and carries 3, b and c carry
///     a <     > d      1 each: 1 flows through each of b and c. They separate, and so
///          c           does a.
///
/// Distances to the sink are found by a pass over the network now and then. Between two
/// passes a node from which no arc goes on to a nearer one gets the least distance that
/// its arcs have; the sources that are nearest come first.
///
/// Least separators are found by growing the source's side, which begins with what more
/// could flow to: a vertex that it takes brings along what more could flow to from there.
/// The separator stays a least one as long as this is not the sink.
///
/// @par Cost  O(edges) for each pass, of which there are some tens in bands around
///            separators; given up after kMostPasses
/// @par Test  the weight of brute force's least separators; what it grows to is one
class VertexFlow {
 public:
  static constexpr std::int32_t kMostPasses = 200;

  explicit VertexFlow(FlowNetwork&& network);

  /// @param most  what a separator that is known weighs: no flow is greater
  /// @return whether the flow is a greatest one, and not given up; the source's side is
  ///         then the least that there is
  [[nodiscard]] bool maximise(
      std::int64_t most = std::numeric_limits<std::int64_t>::max());
  [[nodiscard]] std::int64_t value() const { return value_; }

  /// Puts a vertex on the source's side, if the separator stays a least one.
  void grow(std::int32_t vertex);
  /// Capacity on the source's side, without the separator.
  [[nodiscard]] std::int64_t source_weight() const { return source_weight_; }
  /// How far the source's side has grown.
  [[nodiscard]] std::size_t steps() const { return reached_.size(); }
  /// Where each vertex was after so many steps: 0 with the source, 1 with the sink, 2 in
  /// the separator.
  [[nodiscard]] std::vector<std::int8_t> sides(std::size_t steps) const;

 private:
  // Node 2 v is where v is entered, 2 v + 1 where it is left. The arc from one to the
  // other is at place start[v] - 1, those to neighbours are at the neighbours' places.
  [[nodiscard]] std::int32_t begin_of(std::int32_t node) const {
    return network_.start[node / 2] - 1;
  }
  [[nodiscard]] std::int32_t end_of(std::int32_t node) const {
    return network_.start[node / 2 + 1];
  }
  [[nodiscard]] bool is_inner(std::int32_t node, std::int32_t place) const {
    return place < network_.start[node / 2];
  }
  [[nodiscard]] std::int32_t target(std::int32_t node, std::int32_t place) const {
    return is_inner(node, place) ? node ^ 1
                                 : 2 * network_.neighbour[place] + 1 - node % 2;
  }
  [[nodiscard]] std::int32_t room(std::int32_t node, std::int32_t place) const;
  void push(std::int32_t node, std::int32_t place, std::int32_t amount);
  void label();
  void label_before(std::int32_t node);
  void relabel(std::int32_t node);
  [[nodiscard]] std::int32_t source_distance() const;
  void send_from(std::int32_t source);
  [[nodiscard]] bool advance();
  void augment();
  void reach(std::int32_t node);
  void reach_all();

  struct Step {
    std::int32_t node, place;  // of the arc to the next one
  };

  FlowNetwork network_;
  std::vector<std::int32_t> sources_;  // vertices that are fed
  std::vector<std::int32_t> reverse_;  // the place of each place's opposite arc
  std::vector<std::int32_t> flow_;     // of each place, from the vertex whose place it is
  std::vector<std::int32_t> through_;  // each vertex
  std::vector<std::int32_t> distance_;  // to the sink, of nodes: no more than it is
  std::vector<std::int32_t> place_;     // that each node tries next
  std::vector<std::int32_t> queue_;
  std::vector<Step> path_;
  std::int64_t value_ = 0, source_weight_ = 0;
  std::int64_t scans_ = 0;             // of arcs, since the last pass
  std::vector<bool> is_reached_;       // by the source's side, of nodes
  std::vector<std::int32_t> reached_;  // these in their order
};

}  // namespace espalier::solver
