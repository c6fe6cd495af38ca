#include "espalier/sequential/downsets/lowest_downset.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier {
namespace {

constexpr Bytes kInfinite = std::numeric_limits<Bytes>::max();
constexpr std::int32_t kSource = 0, kSink = 1;

}  // namespace

LowestDownset::LowestDownset(const BlockIndex& block, std::function<bool()> stop)
    : block_(&block),
      stop_(std::move(stop)),
      node_(block.size(), -1),
      seen_in_(block.data(), 0) {}

std::int32_t LowestDownset::add_node() {
  leaving_.emplace_back();
  return static_cast<std::int32_t>(leaving_.size()) - 1;
}

void LowestDownset::connect(std::int32_t from, std::int32_t to, Bytes room) {
  if (room == 0) return;
  leaving_[at(from)].push_back(static_cast<std::int32_t>(arcs_.size()));
  arcs_.push_back({to, room});
  leaving_[at(to)].push_back(static_cast<std::int32_t>(arcs_.size()));
  arcs_.push_back({from, 0});
}

void LowestDownset::add_datum(std::int32_t datum, const DownsetInterval& interval) {
  if (seen_in_[at(datum)] == builds_) return;
  seen_in_[at(datum)] = builds_;
  const std::int32_t producer = block_->producer(datum);
  const std::int32_t writes = producer < 0 ? -1 : node_of(producer);
  const std::int32_t from = writes < 0 ? kSource : writes;
  if (block_->stays(datum) || interval.unread_above(datum) > 0) {
    if (writes >= 0) connect(writes, kSink, block_->datum_size(datum));
    return;
  }
  const std::int32_t free = add_node();
  bool read_inside = false;
  for (const std::int32_t reader : block_->readers(datum)) {
    if (node_of(reader) < 0) continue;
    connect(free, node_of(reader), kInfinite);
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
  for (const std::int32_t task : interval.tasks) node_[at(task)] = add_node();
  for (const std::int32_t task : interval.tasks) {
    for (const std::int32_t before : block_->predecessors(task)) {
      if (node_of(before) >= 0) connect(node_of(task), node_of(before), kInfinite);
    }
    for (const std::int32_t datum : block_->inputs(task)) add_datum(datum, interval);
    for (const std::int32_t datum : block_->outputs(task)) add_datum(datum, interval);
  }
}

// Distances from the source along arcs with room. False: the sink is out of reach.
bool LowestDownset::layer() {
  depth_.assign(leaving_.size(), -1);
  depth_[at(kSource)] = 0;
  std::vector<std::int32_t> queue = {kSource};
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const std::int32_t arc : leaving_[at(queue[k])]) {
      const auto& [to, room] = arcs_[at(arc)];
      if (room == 0 || depth_[at(to)] >= 0) continue;
      depth_[at(to)] = depth_[at(queue[k])] + 1;
      queue.push_back(to);
    }
  }
  return depth_[at(kSink)] >= 0;
}

// A blocking flow: paths by depth-first search, each arc given up once. False: stopped.
bool LowestDownset::push_through_layers() {
  constexpr std::size_t kAskEvery = 1024;
  std::size_t steps = 0;
  next_arc_.assign(leaving_.size(), 0);
  std::vector<std::int32_t> path;  // arcs from the source on
  for (;;) {
    if (stop_ && steps++ % kAskEvery == 0 && stop_()) return false;
    const std::int32_t node = path.empty() ? kSource : arcs_[at(path.back())].to;
    if (node == kSink) {
      Bytes room = kInfinite;
      for (const std::int32_t arc : path) room = std::min(room, arcs_[at(arc)].room);
      for (const std::int32_t arc : path) {
        if (arcs_[at(arc)].room != kInfinite) arcs_[at(arc)].room -= room;
        Bytes& back = arcs_[at(arc) ^ 1].room;
        if (back != kInfinite) back += room;
      }
      path.clear();
      continue;
    }
    std::size_t& k = next_arc_[at(node)];
    const auto& arcs = leaving_[at(node)];
    while (k < arcs.size() &&
           (arcs_[at(arcs[k])].room == 0 ||
            depth_[at(arcs_[at(arcs[k])].to)] != depth_[at(node)] + 1)) {
      ++k;
    }
    if (k < arcs.size()) {
      path.push_back(arcs[k]);
    } else if (path.empty()) {
      return true;
    } else {
      const std::int32_t from = arcs_[at(path.back()) ^ 1].to;
      path.pop_back();
      ++next_arc_[at(from)];
    }
  }
}

// Smallest: what the source reaches. Largest: what does not reach the sink.
std::vector<bool> LowestDownset::source_side(bool largest) const {
  std::vector<bool> found(leaving_.size(), false);
  std::vector<std::int32_t> queue = {largest ? kSink : kSource};
  found[at(queue[0])] = true;
  for (std::size_t k = 0; k < queue.size(); ++k) {
    for (const std::int32_t arc : leaving_[at(queue[k])]) {
      const std::int32_t to = arcs_[at(arc)].to;
      const Bytes room = largest ? arcs_[at(arc) ^ 1].room : arcs_[at(arc)].room;
      if (room == 0 || found[at(to)]) continue;
      found[at(to)] = true;
      queue.push_back(to);
    }
  }
  if (largest) found.flip();
  return found;
}

std::vector<std::int32_t> LowestDownset::between(const DownsetInterval& interval,
                                                 bool largest) {
  build(interval);
  bool is_cut = true;
  while (is_cut && layer()) is_cut = push_through_layers();
  const std::vector<bool> inside =
      is_cut ? source_side(largest) : std::vector<bool>(leaving_.size(), false);
  std::vector<std::int32_t> downset;
  for (const std::int32_t task : interval.tasks) {
    if (inside[at(node_of(task))]) downset.push_back(task);
    node_[at(task)] = -1;
  }
  return downset;
}

std::vector<std::int32_t> lowest_downset(const BlockIndex& block,
                                         const std::function<bool()>& stop) {
  const std::vector<std::int32_t> tasks = block.topological_order();
  return LowestDownset(block, stop)
      .between({tasks, [](std::int32_t) { return 0; }}, false);
}

}  // namespace espalier
