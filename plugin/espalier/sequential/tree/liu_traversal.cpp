#include "espalier/sequential/tree/liu_traversal.h"

#include <cstdint>
#include <ranges>
#include <span>
#include <vector>

#include "espalier/sequential/segments/pairing_heaps.h"
#include "espalier/sequential/segments/segment.h"

namespace espalier {
namespace {

using Heaps = PairingHeaps<Segment>;
constexpr std::int32_t kEmpty = Heaps::kEmpty;

// Profiles of subtrees as heaps of segments, the last one on top. A segment is named by
// its last task.
class Subtrees {
 public:
  Subtrees(std::size_t tasks, std::span<TaskId> next)
      : heaps_(tasks), heap_of_(tasks, kEmpty), next_(next) {}

  // The profiles of independent subtrees, whose roots are `tops`, as one.
  std::int32_t merge(std::span<const TaskId> tops) {
    return heaps_.meld_all(tops | std::views::transform([this](TaskId top) {
                             return heap_of_[index(top)];
                           }));
  }

  // The rule of the header for one task, on top of its children's segments.
  void append(Segment s, std::int32_t heap) {
    const TaskId task = s.last;
    while (heap != kEmpty && joins(heaps_.top(heap), s)) {
      s = concat(heaps_.top(heap), s, next_);
      heap = heaps_.pop(heap);
    }
    const std::int32_t last = heaps_.make(static_cast<std::int32_t>(task), s);
    heap_of_[index(task)] = heaps_.meld(heap, last);
  }

  // All segments as one. The least key comes last, so the order grows from the back.
  Segment run_all(std::int32_t heap) {
    Segment all = heaps_.top(heap);
    while ((heap = heaps_.pop(heap)) != kEmpty)
      all = concat(heaps_.top(heap), all, next_);
    return all;
  }

 private:
  Heaps heaps_;
  std::vector<std::int32_t> heap_of_;
  std::span<TaskId> next_;
};

Segment single_task(const TaskTree& tree, TaskId task) {
  const Bytes kept = tree.output_size(task) + tree.retained_size(task);
  return {tree.execution_size(task) + kept, kept - tree.input_size(task), task, task};
}

}  // namespace

Traversal liu_traversal(const TaskTree& tree) {
  Traversal result;
  if (tree.empty()) return result;
  std::vector<TaskId> next(tree.size());
  Subtrees subtrees(tree.size(), next);
  for (const TaskId task : tree.postorder()) {
    subtrees.append(single_task(tree, task), subtrees.merge(tree.children(task)));
  }
  const Segment all = subtrees.run_all(subtrees.merge(tree.roots()));
  result.peak = all.peak;
  result.order = rope(all, next);
  return result;
}

}  // namespace espalier
