#include "solver/ordering/vertex_flow.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace espalier::solver {
namespace {

constexpr std::int32_t kNoLimit = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kNoWay = kNoLimit;  // to the sink
constexpr std::int64_t kScansOfArc = 2;    // of each, after which a pass costs less

}  // namespace

VertexFlow::VertexFlow(FlowNetwork&& network)
    : network_(std::move(network)),
      reverse_(network_.neighbour.size()),
      flow_(network_.neighbour.size(), 0),
      through_(network_.size(), 0),
      distance_(2 * network_.capacity.size()),
      place_(2 * network_.capacity.size()),
      is_reached_(2 * network_.capacity.size(), false) {
  // Arcs to a vertex come by the vertex that they are from, as its own list goes.
  std::vector<std::int32_t> next(network_.start.begin(), network_.start.end() - 1);
  for (std::size_t k = 0; k < reverse_.size(); ++k)
    reverse_[k] = next[network_.neighbour[k]]++;
  for (std::int32_t v = 0; v < network_.size(); ++v)
    if (network_.fed[v]) sources_.push_back(v);
}

// What more may flow over an arc.
std::int32_t VertexFlow::room(std::int32_t node, std::int32_t place) const {
  const std::int32_t v = node / 2;
  const bool is_exit = node % 2 == 1;
  if (is_inner(node, place))
    return is_exit ? through_[v] : network_.capacity[v] - through_[v];
  return is_exit ? kNoLimit : flow_[reverse_[place]];
}

void VertexFlow::push(std::int32_t node, std::int32_t place, std::int32_t amount) {
  const bool is_exit = node % 2 == 1;
  if (is_inner(node, place))
    through_[node / 2] += is_exit ? -amount : amount;
  else if (is_exit)
    flow_[place] += amount;
  else
    flow_[reverse_[place]] -= amount;
}

// Labels what has room for more to `node`.
void VertexFlow::label_before(std::int32_t node) {
  const std::int32_t v = node / 2, next = distance_[node] + 1;
  const auto label = [&](std::int32_t from) {
    if (distance_[from] != kNoWay) return;
    distance_[from] = next;
    queue_.push_back(from);
  };
  const std::int32_t first = network_.start[v], last = network_.start[v + 1];
  if (node % 2 == 1) {
    if (through_[v] < network_.capacity[v]) label(node - 1);
    if (through_[v] == 0) return;
    for (std::int32_t k = first; k < last; ++k)
      if (flow_[k] > 0) label(2 * network_.neighbour[k]);
  } else {
    if (through_[v] > 0) label(node + 1);
    for (std::int32_t k = first; k < last; ++k) label(2 * network_.neighbour[k] + 1);
  }
}

// A pass over all: distances to the sink as they are.
void VertexFlow::label() {
  std::ranges::fill(distance_, kNoWay);
  queue_.clear();
  for (std::int32_t v = 0; v < network_.size(); ++v)
    if (network_.drained[v]) {
      distance_[2 * v + 1] = 0;
      queue_.push_back(2 * v + 1);
    }
  for (std::size_t k = 0; k < queue_.size(); ++k)  // grows on the way
    label_before(queue_[k]);
  for (std::int32_t node = 0; node < std::ssize(place_); ++node)
    place_[node] = begin_of(node);
  scans_ = 0;
}

// Of a node from which no arc leads to one that is nearer.
void VertexFlow::relabel(std::int32_t node) {
  std::int32_t nearest = kNoWay;
  for (std::int32_t place = begin_of(node); place < end_of(node); ++place) {
    const std::int32_t to = target(node, place);
    if (distance_[to] < nearest && room(node, place) > 0) nearest = distance_[to];
  }
  scans_ += end_of(node) - begin_of(node);
  distance_[node] = nearest == kNoWay ? kNoWay : nearest + 1;
  place_[node] = begin_of(node);
}

// One node nearer to the sink; false: from the path's end there is no way.
bool VertexFlow::advance() {
  const std::int32_t node = path_.back().node;
  const std::int32_t nearer = distance_[node] - 1, end = end_of(node);
  const std::int32_t is_entry = 1 - node % 2;
  std::int32_t& place = place_[node];
  const std::int32_t first = place;
  if (is_inner(node, place) && (distance_[node ^ 1] != nearer || room(node, place) == 0))
    ++place;
  if (!is_inner(node, place))
    while (place < end &&
           (distance_[2 * network_.neighbour[place] + is_entry] != nearer ||
            (is_entry == 1 && flow_[reverse_[place]] == 0)))
      ++place;
  scans_ += place - first;
  if (place == end) return false;
  path_.back().place = place;
  path_.push_back({target(node, place), 0});
  return true;
}

// As much as goes along the path, which is cut back to the first arc that is full then.
void VertexFlow::augment() {
  path_.pop_back();
  std::int32_t amount = kNoLimit;
  for (const auto& [node, place] : path_) amount = std::min(amount, room(node, place));
  std::size_t full = path_.size();
  for (std::size_t k = path_.size(); k-- > 0;) {
    const auto& [node, place] = path_[k];
    push(node, place, amount);
    if (room(node, place) == 0) full = k;
  }
  value_ += amount;
  path_.resize(full + 1);
}

// All that goes on shortest ways from a vertex that is fed; it is farther away then.
void VertexFlow::send_from(std::int32_t source) {
  path_.assign(1, {2 * source, 0});
  while (!path_.empty()) {
    const std::int32_t node = path_.back().node;
    if (node % 2 == 1 && distance_[node] == 0) {
      augment();
    } else if (!advance()) {
      relabel(node);
      path_.pop_back();
    }
  }
}

// That of the nearest that is fed.
std::int32_t VertexFlow::source_distance() const {
  std::int32_t nearest = kNoWay;
  for (const std::int32_t v : sources_) nearest = std::min(nearest, distance_[2 * v]);
  return nearest;
}

bool VertexFlow::maximise(std::int64_t most) {
  std::int32_t passes = 1;
  label();
  while (value_ < most) {
    const std::int32_t distance = source_distance();
    if (distance == kNoWay) break;
    for (const std::int32_t v : sources_)
      if (value_ < most && distance_[2 * v] == distance) send_from(v);
    if (scans_ <= kScansOfArc * std::ssize(flow_)) continue;
    if (passes++ == kMostPasses) return false;
    label();
  }
  label();
  queue_.clear();
  for (const std::int32_t v : sources_) reach(2 * v);
  reach_all();
  return true;
}

void VertexFlow::reach(std::int32_t node) {
  if (is_reached_[node]) return;
  is_reached_[node] = true;
  reached_.push_back(node);
  queue_.push_back(node);
  if (node % 2 == 1) source_weight_ += network_.capacity[node / 2];
}

void VertexFlow::reach_all() {
  while (!queue_.empty()) {
    const std::int32_t node = queue_.back();
    queue_.pop_back();
    for (std::int32_t place = begin_of(node); place < end_of(node); ++place)
      if (room(node, place) > 0) reach(target(node, place));
  }
}

void VertexFlow::grow(std::int32_t vertex) {
  const std::int32_t exit = 2 * vertex + 1;
  // From what has a distance the sink would be reached.
  if (is_reached_[exit] || distance_[exit] != kNoWay) return;
  reach(2 * vertex);
  reach(exit);
  reach_all();
}

std::vector<std::int8_t> VertexFlow::sides(std::size_t steps) const {
  std::vector<std::int8_t> sides(network_.capacity.size(), 1);
  for (std::size_t k = 0; k < steps; ++k) {
    std::int8_t& side = sides[reached_[k] / 2];
    if (reached_[k] % 2 == 1)
      side = 0;
    else if (side == 1)
      side = 2;
  }
  return sides;
}

}  // namespace espalier::solver
