#include "espalier/sequential/downsets/lowest_downset.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier {
namespace {

constexpr Bytes kInfinite = std::numeric_limits<Bytes>::max();

}  // namespace

LowestDownset::LowestDownset(const BlockIndex& block, std::function<bool()> stop)
    : block_(&block),
      stop_(std::move(stop)),
      node_(block.size(), kNoNode),
      seen_in_(block.data(), 0) {}

LowestDownset::NodeId LowestDownset::add_node() { return leaving_.push_back({}); }

void LowestDownset::connect(NodeId from, NodeId to, Bytes room) {
  if (room == 0) return;
  leaving_[from].push_back(arcs_.push_back({to, room}));
  leaving_[to].push_back(arcs_.push_back({from, 0}));
}

void LowestDownset::add_datum(BlockDatumId datum, const DownsetInterval& interval) {
  if (seen_in_[datum] == builds_) return;
  seen_in_[datum] = builds_;
  const BlockTaskId producer = block_->producer(datum);
  const NodeId writes = producer == kNoBlockTask ? kNoNode : node_[producer];
  const NodeId from = writes == kNoNode ? kSource : writes;
  if (block_->stays(datum) || interval.unread_above(datum) > 0) {
    if (writes != kNoNode) connect(writes, kSink, block_->datum_size(datum));
    return;
  }
  const NodeId free = add_node();
  bool read_inside = false;
  for (const BlockTaskId reader : block_->readers(datum)) {
    if (node_[reader] == kNoNode) continue;
    connect(free, node_[reader], kInfinite);
    read_inside = true;
  }
  if (read_inside) connect(from, free, block_->datum_size(datum));
}

void LowestDownset::build(const DownsetInterval& interval) {
  leaving_.clear();
  arcs_.clear();
  ++builds_;
  (void)add_node();
  (void)add_node();
  for (const BlockTaskId task : interval.tasks) node_[task] = add_node();
  for (const BlockTaskId task : interval.tasks) {
    for (const BlockTaskId before : block_->predecessors(task)) {
      if (node_[before] != kNoNode) connect(node_[task], node_[before], kInfinite);
    }
    for (const BlockDatumId datum : block_->inputs(task)) add_datum(datum, interval);
    for (const BlockDatumId datum : block_->outputs(task)) add_datum(datum, interval);
  }
}

// Distances from the source along arcs with room. False: the sink is out of reach.
bool LowestDownset::layer() {
  depth_.assign(leaving_.size(), -1);
  depth_[kSource] = 0;
  std::vector<NodeId> queue = {kSource};
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const ArcId arc : leaving_[queue[k]]) {
      const auto& [to, room] = arcs_[arc];
      if (room == 0 || depth_[to] >= 0) continue;
      depth_[to] = depth_[queue[k]] + 1;
      queue.push_back(to);
    }
  }
  return depth_[kSink] >= 0;
}

// A blocking flow: paths by depth-first search, each arc given up once. False: stopped.
bool LowestDownset::push_through_layers() {
  constexpr std::size_t kAskEvery = 1024;
  std::size_t steps = 0;
  next_arc_.assign(leaving_.size(), 0);
  std::vector<ArcId> path;  // arcs from the source on
  for (;;) {
    if (stop_ && steps++ % kAskEvery == 0 && stop_()) return false;
    const NodeId node = path.empty() ? kSource : arcs_[path.back()].to;
    if (node == kSink) {
      Bytes room = kInfinite;
      for (const ArcId arc : path) room = std::min(room, arcs_[arc].room);
      for (const ArcId arc : path) {
        if (arcs_[arc].room != kInfinite) arcs_[arc].room -= room;
        Bytes& back = arcs_[opposite(arc)].room;
        if (back != kInfinite) back += room;
      }
      path.clear();
      continue;
    }
    std::size_t& k = next_arc_[node];
    const auto& arcs = leaving_[node];
    while (k < arcs.size() &&
           (arcs_[arcs[k]].room == 0 || depth_[arcs_[arcs[k]].to] != depth_[node] + 1)) {
      ++k;
    }
    if (k < arcs.size()) {
      path.push_back(arcs[k]);
    } else if (path.empty()) {
      return true;
    } else {
      const NodeId from = arcs_[opposite(path.back())].to;
      path.pop_back();
      ++next_arc_[from];
    }
  }
}

// Smallest: what the source reaches. Largest: what does not reach the sink.
IdVector<LowestDownset::NodeId, bool> LowestDownset::source_side(bool largest) const {
  IdVector<NodeId, bool> found(leaving_.size(), false);
  std::vector<NodeId> queue = {largest ? kSink : kSource};
  found[queue[0]] = true;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const ArcId arc : leaving_[queue[k]]) {
      const NodeId to = arcs_[arc].to;
      const Bytes room = largest ? arcs_[opposite(arc)].room : arcs_[arc].room;
      if (room == 0 || found[to]) continue;
      found[to] = true;
      queue.push_back(to);
    }
  }
  if (largest) {
    for (const NodeId node : found.ids()) found[node] = !found[node];
  }
  return found;
}

std::vector<BlockTaskId> LowestDownset::between(const DownsetInterval& interval,
                                                bool largest) {
  build(interval);
  bool is_cut = true;
  while (is_cut && layer()) is_cut = push_through_layers();
  const IdVector<NodeId, bool> inside =
      is_cut ? source_side(largest) : IdVector<NodeId, bool>(leaving_.size(), false);
  std::vector<BlockTaskId> downset;
  for (const BlockTaskId task : interval.tasks) {
    if (inside[node_[task]]) downset.push_back(task);
    node_[task] = kNoNode;
  }
  return downset;
}

std::vector<BlockTaskId> lowest_downset(const BlockIndex& block,
                                        const std::function<bool()>& stop) {
  const std::vector<BlockTaskId> tasks = block.topological_order();
  return LowestDownset(block, stop)
      .between({tasks, [](BlockDatumId) { return 0; }}, false);
}

}  // namespace espalier
