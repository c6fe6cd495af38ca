#include "espalier/parallel/prefix_peak_tree.h"

#include <algorithm>
#include <bit>
#include <numeric>
#include <type_traits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

PrefixPeakTree::Node PrefixPeakTree::joined(const Node& a, const Node& b) {
  return {a.sum + b.sum, std::max(a.peak, b.peak + a.sum)};
}

PrefixPeakTree::Node PrefixPeakTree::block(std::size_t index) const {
  Node node;
  const std::size_t last = std::min(end_, (index + 1) * kBlock);
  for (std::size_t i = index * kBlock; i < last; ++i) {
    if ((tasks_[i] & kGone) != 0) continue;
    node.peak = std::max(node.peak, node.sum + entries_[i].alloc);
    node.sum += entries_[i].alloc - entries_[i].free;
  }
  return node;
}

void PrefixPeakTree::update(Place place) {
  const std::size_t leaf = place / kBlock;
  std::size_t node = nodes_.size() / 2 + leaf;
  nodes_[node] = block(leaf);
  for (node /= 2; node >= 1; node /= 2)
    nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
}

void PrefixPeakTree::assign(std::vector<Entry> tasks) {
  ESPALIER_ASSERT(tasks.size() <= kGone, "a task id below 2^31");
  entries_ = std::move(tasks);
  end_ = alive_ = entries_.size();
  tasks_.resize(end_);
  std::iota(tasks_.begin(), tasks_.end(), 0U);
  rebuild();
}

PrefixPeakTree::Place PrefixPeakTree::append(std::uint32_t task, Bytes alloc) {
  ESPALIER_ASSERT((task & kGone) == 0, "a task id below 2^31");
  if (end_ == entries_.size()) close_up();
  const auto place = static_cast<Place>(end_++);
  tasks_[place] = task;
  entries_[place] = {alloc, 0};
  ++alive_;
  update(place);
  return place;
}

void PrefixPeakTree::change(Place place, Bytes more_alloc, Bytes more_free) {
  entries_[place].alloc += more_alloc;
  entries_[place].free += more_free;
  if ((tasks_[place] & kGone) == 0) update(place);
}

void PrefixPeakTree::remove(Place place) {
  tasks_[place] |= kGone;
  --alive_;
  update(place);
}

void PrefixPeakTree::restore(Place place) {
  tasks_[place] &= ~kGone;
  ++alive_;
  update(place);
}

std::optional<PrefixPeakTree::Place> PrefixPeakTree::first_above(Bytes limit) const {
  if (alive_ == 0 || nodes_[1].peak <= limit) return std::nullopt;
  std::size_t node = 1;
  const std::size_t first_leaf = nodes_.size() / 2;
  while (node < first_leaf) {
    const Node& left = nodes_[2 * node];
    node = 2 * node;
    if (left.peak <= limit) {
      limit -= left.sum;
      ++node;
    }
  }
  std::size_t place = (node - first_leaf) * kBlock;
  for (;; ++place) {
    if ((tasks_[place] & kGone) != 0) continue;
    if (entries_[place].alloc > limit) return static_cast<Place>(place);
    limit -= entries_[place].alloc - entries_[place].free;
  }
}

Bytes PrefixPeakTree::peak() const {
  return alive_ == 0 ? 0 : std::max<Bytes>(0, nodes_[1].peak);
}

std::optional<PrefixPeakTree::Place> PrefixPeakTree::first() const {
  for (std::size_t place = 0; place < end_; ++place)
    if ((tasks_[place] & kGone) == 0) return static_cast<Place>(place);
  return std::nullopt;
}

void PrefixPeakTree::close_up() {
  std::size_t to = 0;
  for (std::size_t from = 0; from < end_; ++from) {
    if ((tasks_[from] & kGone) != 0) continue;
    if (from != to) {
      tasks_[to] = tasks_[from];
      entries_[to] = entries_[from];
      moved_(tasks_[to], static_cast<Place>(to));
    }
    ++to;
  }
  end_ = to;
  const std::size_t capacity = std::max(4 * kBlock, end_ + end_ / 2);
  // Exactly that much: resize() would double.
  const auto resized = [&](const auto& places) {
    auto copy = std::decay_t<decltype(places)>();
    copy.reserve(capacity);
    copy.assign(places.begin(), places.begin() + static_cast<std::ptrdiff_t>(end_));
    copy.resize(capacity);
    return copy;
  };
  entries_ = resized(entries_);
  tasks_ = resized(tasks_);
  rebuild();
}

void PrefixPeakTree::rebuild() {
  const std::size_t leaves = std::bit_ceil((entries_.size() + kBlock - 1) / kBlock);
  nodes_.assign(2 * leaves, Node{});
  for (std::size_t leaf = 0; leaf * kBlock < end_; ++leaf)
    nodes_[leaves + leaf] = block(leaf);
  for (std::size_t node = leaves - 1; node >= 1; --node)
    nodes_[node] = joined(nodes_[2 * node], nodes_[2 * node + 1]);
}

}  // namespace espalier
