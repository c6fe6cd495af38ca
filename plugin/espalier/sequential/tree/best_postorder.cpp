#include "espalier/sequential/tree/best_postorder.h"

#include <algorithm>
#include <limits>
#include <span>

namespace espalier {
namespace {

// The recurrence of the header, bottom-up, with the place of every subtree in the order.
class PostorderFold {
 public:
  explicit PostorderFold(const TaskTree& tree,
                         Bytes most = std::numeric_limits<Bytes>::max())
      : tree_(tree), most_(most), size_(tree.size(), 1), offset_(tree.size(), 0) {
    peaks_.peak.resize(tree.size());
    peaks_.left_behind.resize(tree.size());
    for (const TaskId task : tree.postorder()) fold_task(task);
    forest_ = fold_siblings(tree.roots());
  }

  [[nodiscard]] SubtreePeaks take_peaks() { return std::move(peaks_); }

  [[nodiscard]] Traversal traversal() const {
    Traversal result{std::vector<TaskId>(tree_.size()), forest_.peak};
    std::vector<std::int32_t> first(tree_.size());
    const std::span<const TaskId> bottom_up = tree_.postorder();
    for (auto task = bottom_up.rbegin(); task != bottom_up.rend(); ++task) {
      const std::size_t i = index(*task);
      const std::optional<TaskId> parent = tree_.parent(*task);
      first[i] = offset_[i] + (parent ? first[index(*parent)] : 0);
      result.order[static_cast<std::size_t>(first[i] + size_[i] - 1)] = *task;
    }
    return result;
  }

 private:
  // Subtrees run one after the other.
  struct Siblings {
    Bytes peak = 0, left_behind = 0;
    std::int32_t size = 0;
  };

  void fold_task(TaskId task) {
    const std::size_t i = index(task);
    const Siblings below = fold_siblings(tree_.children(task));
    const Bytes kept = tree_.output_size(task) + tree_.retained_size(task);
    const Bytes at_task = below.left_behind + tree_.execution_size(task) + kept;
    peaks_.peak[i] = std::min(most_, std::max(below.peak, at_task));
    peaks_.left_behind[i] = below.left_behind - tree_.input_size(task) + kept;
    size_[i] = below.size + 1;
  }

  // Sorts siblings (or roots), notes where each starts among them, and adds them up.
  Siblings fold_siblings(std::span<const TaskId> siblings) {
    visit_.assign(siblings.begin(), siblings.end());
    const auto before = [this](TaskId a, TaskId b) { return peaks_.visits_before(a, b); };
    if (!std::is_sorted(visit_.begin(), visit_.end(), before))  // equal leaves are
      std::sort(visit_.begin(), visit_.end(), before);
    Siblings sum;
    for (const TaskId task : visit_) {
      const std::size_t i = index(task);
      offset_[i] = sum.size;
      sum.size += size_[i];
      sum.peak = std::max(sum.peak, sum.left_behind + peaks_.peak[i]);
      sum.left_behind += peaks_.left_behind[i];
    }
    return sum;
  }

  const TaskTree& tree_;
  const Bytes most_;  // that any subtree is said to need
  SubtreePeaks peaks_;
  std::vector<std::int32_t> size_;    // tasks in the subtree
  std::vector<std::int32_t> offset_;  // tasks of siblings visited before it
  std::vector<TaskId> visit_;         // scratch of fold_siblings()
  Siblings forest_;
};

}  // namespace

SubtreePeaks subtree_postorder_peaks(const TaskTree& tree) {
  return PostorderFold(tree).take_peaks();
}

Traversal best_postorder(const TaskTree& tree) { return PostorderFold(tree).traversal(); }

std::vector<TaskId> capped_postorder(const TaskTree& tree, Bytes most) {
  return PostorderFold(tree, most).traversal().order;
}

}  // namespace espalier
