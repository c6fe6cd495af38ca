#include "espalier/sequential/liu_traversal.h"

#include <algorithm>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/sequential/segment.h"

namespace espalier {
namespace {

constexpr std::int32_t kNone = -1;

// Pairing heaps of segments, least key on top. A segment is named by its last task, and
// all heaps share one array: no allocation, melding in O(1).
class SegmentHeaps {
 public:
  explicit SegmentHeaps(std::size_t tasks) : nodes_(tasks) {}

  [[nodiscard]] const Segment& segment(std::int32_t heap) const {
    return at(heap).segment;
  }

  // A heap of one segment.
  std::int32_t make(const Segment& segment) {
    const auto heap = static_cast<std::int32_t>(segment.last);
    at(heap) = {segment, kNone, kNone};
    return heap;
  }

  std::int32_t meld(std::int32_t a, std::int32_t b) {
    if (a == kNone) return b;
    if (b == kNone) return a;
    if (at(b).segment.key() < at(a).segment.key()) std::swap(a, b);
    at(b).sibling = at(a).child;
    at(a).child = b;
    return a;
  }

  // The heaps of siblings, by decreasing least key: each goes on top of the rest, so that
  // a star of a million leaves becomes a list that is popped in linear time.
  std::int32_t meld_all(std::span<const TaskId> siblings,
                        std::span<const std::int32_t> heap_of) {
    by_key_.clear();
    for (const TaskId task : siblings) {
      const std::int32_t heap = heap_of[index(task)];
      by_key_.emplace_back(segment(heap).key(), heap);
    }
    std::sort(by_key_.begin(), by_key_.end());
    std::int32_t melded = kNone;
    for (auto entry = by_key_.rbegin(); entry != by_key_.rend(); ++entry) {
      melded = meld(melded, entry->second);
    }
    return melded;
  }

  // The heap without its top: two passes over the top's children.
  std::int32_t pop(std::int32_t heap) {
    std::int32_t pairs = kNone;
    for (std::int32_t a = at(heap).child; a != kNone;) {
      const std::int32_t b = at(a).sibling;
      const std::int32_t rest = b == kNone ? kNone : at(b).sibling;
      const std::int32_t pair = meld(a, b);
      at(pair).sibling = pairs;
      pairs = pair;
      a = rest;
    }
    std::int32_t result = kNone;
    while (pairs != kNone) {
      const std::int32_t rest = at(pairs).sibling;
      result = meld(result, pairs);
      pairs = rest;
    }
    return result;
  }

 private:
  struct Node {
    Segment segment;
    std::int32_t child = kNone, sibling = kNone;
  };

  Node& at(std::int32_t heap) { return nodes_[static_cast<std::size_t>(heap)]; }
  const Node& at(std::int32_t heap) const {
    return nodes_[static_cast<std::size_t>(heap)];
  }

  std::vector<Node> nodes_;
  std::vector<std::pair<Bytes, std::int32_t>> by_key_;  // scratch of meld_all()
};

Segment single_task(const TaskTree& tree, TaskId task) {
  const Bytes kept = tree.output_size(task) + tree.retained_size(task);
  return {tree.execution_size(task) + kept, kept - tree.input_size(task), task, task};
}

// The rule of the header for one task, on top of its children's segments.
std::int32_t append_task(const Segment& task, std::int32_t heap, SegmentHeaps& heaps,
                         std::span<TaskId> next) {
  Segment s = task;
  while (heap != kNone && (s.net <= 0 || s.peak >= heaps.segment(heap).key())) {
    s = concat(heaps.segment(heap), s, next);
    heap = heaps.pop(heap);
  }
  return heaps.meld(heap, heaps.make(s));
}

// All segments as one. The least key comes last, so the order grows from the back.
Segment run_all(std::int32_t heap, SegmentHeaps& heaps, std::span<TaskId> next) {
  Segment all = heaps.segment(heap);
  while ((heap = heaps.pop(heap)) != kNone) {
    all = concat(heaps.segment(heap), all, next);
  }
  return all;
}

}  // namespace

Traversal liu_traversal(const TaskTree& tree) {
  Traversal result;
  if (tree.empty()) return result;
  SegmentHeaps heaps(tree.size());
  std::vector<std::int32_t> heap_of(tree.size(), kNone);
  std::vector<TaskId> next(tree.size());
  for (const TaskId task : tree.postorder()) {
    heap_of[index(task)] =
        append_task(single_task(tree, task), heaps.meld_all(tree.children(task), heap_of),
                    heaps, next);
  }
  const Segment all = run_all(heaps.meld_all(tree.roots(), heap_of), heaps, next);
  result.peak = all.peak;
  result.order.resize(tree.size());
  TaskId task = all.first;
  for (TaskId& position : result.order) {
    position = task;
    task = next[index(task)];
  }
  return result;
}

}  // namespace espalier
