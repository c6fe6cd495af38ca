#include <utility>
#include <vector>

#include "espalier/sharding/shard_model.h"

namespace espalier {
namespace {

// A node of the problem, and the states of its ends by strategy.
struct Placed {
  std::int32_t node;
  std::vector<MeshState> in, out;
};

class Builder {
 public:
  explicit Builder(const ShardedModel& model) : setting_(model.setting) {
    for (MeshState s = 0; s < state_count(setting_.mesh); ++s) states_.push_back(s);
    Placed last = placed_state();
    for (const std::int32_t number : model.sequence)
      last = add(model.parts[static_cast<std::size_t>(number)], last);
  }

  ShardingProblem problem(Bytes limit) && {
    return {std::move(nodes_), std::move(edges_), limit};
  }

 private:
  // Something that only has a state: the model's input, or a sum.
  Placed placed_state() {
    const std::vector<std::int64_t> none(states_.size(), 0);
    nodes_.push_back({0, 1, none, none});
    return {static_cast<std::int32_t>(nodes_.size()) - 1, states_, states_};
  }

  Placed placed(const ShardedOperator& op) {
    Placed placed;
    ShardingNode node{0, 1, {}, {}};
    for (const OperatorWay& way : op.ways) {
      node.costs.push_back(way.cost);
      node.usages.push_back(way.memory);
      placed.in.push_back(way.in);
      placed.out.push_back(way.out);
    }
    nodes_.push_back(std::move(node));
    placed.node = static_cast<std::int32_t>(nodes_.size()) - 1;
    return placed;
  }

  void join(const Placed& from, const Placed& to, std::int64_t width) {
    ShardingEdge edge{from.node, to.node, {}};
    for (const MeshState out : from.out)
      for (const MeshState in : to.in)
        edge.costs.push_back(reshard_cost(setting_, width, out, in));
    edges_.push_back(std::move(edge));
  }

  Placed add(const ModelPart& part, const Placed& input) {
    Placed last = input;
    for (const ShardedOperator& op : part.operators) {
      Placed next = placed(op);
      join(last, next, op.width);
      last = std::move(next);
    }
    if (!part.residual) return last;
    const std::int64_t width = part.operators.front().width;
    Placed sum = placed_state();
    join(last, sum, width);
    join(input, sum, width);
    return sum;
  }

  const ShardingSetting& setting_;
  std::vector<MeshState> states_;
  std::vector<ShardingNode> nodes_;
  std::vector<ShardingEdge> edges_;
};

}  // namespace

ShardingProblem problem_of(const ShardedModel& model, Bytes limit) {
  return Builder(model).problem(limit);
}

}  // namespace espalier
