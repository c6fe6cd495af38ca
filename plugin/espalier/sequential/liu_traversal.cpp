#include "espalier/sequential/liu_traversal.h"

#include <algorithm>
#include <cstdint>
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
};

Segment single_task(const TaskTree& tree, TaskId task) {
  const Bytes kept = tree.output_size(task) + tree.retained_size(task);
  return {tree.execution_size(task) + kept, kept - tree.input_size(task), task, task};
}

}  // namespace

Traversal liu_traversal(const TaskTree& tree) {
  SegmentHeaps heaps(tree.size());
  std::vector<std::int32_t> heap_of(tree.size(), kNone);
  std::vector<TaskId> next(tree.size());

  for (const TaskId task : tree.postorder()) {
    std::int32_t heap = kNone;
    for (const TaskId child : tree.children(task)) {
      heap = heaps.meld(heap, heap_of[index(child)]);
    }
    Segment s = single_task(tree, task);
    while (heap != kNone && (s.net <= 0 || s.peak >= heaps.segment(heap).key())) {
      s = concat(heaps.segment(heap), s, next);
      heap = heaps.pop(heap);
    }
    heap_of[index(task)] = heaps.meld(heap, heaps.make(s));
  }

  std::int32_t heap = kNone;
  for (const TaskId root : tree.roots()) heap = heaps.meld(heap, heap_of[index(root)]);
  if (heap == kNone) return {};
  // By increasing key from the back: each popped segment runs before what was popped.
  Segment all = heaps.segment(heap);
  while ((heap = heaps.pop(heap)) != kNone) {
    all = concat(heaps.segment(heap), all, next);
  }
  Traversal result{{}, all.peak};
  result.order.reserve(tree.size());
  for (TaskId task = all.first; task != all.last; task = next[index(task)]) {
    result.order.push_back(task);
  }
  result.order.push_back(all.last);
  return result;
}

}  // namespace espalier
