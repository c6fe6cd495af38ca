#include "espalier/report/subtrees.h"

#include <algorithm>
#include <queue>
#include <span>
#include <utility>

#include "espalier/parallel/worker_share.h"

namespace espalier::report {
namespace {

constexpr double kLeastPart = 0.03, kMostLeftOut = 0.25;

struct Candidate {
  Flops work;
  TaskId task;
  bool operator<(const Candidate& other) const {  // the largest is cut first
    return work != other.work ? work < other.work : task > other.task;
  }
};

class Chooser {
 public:
  explicit Chooser(const TaskTree& tree) : tree_(tree), work_(subtree_works(tree)) {
    for (const TaskId root : tree.roots()) all_ += work_[index(root)];
  }

  std::vector<Candidate> run(std::size_t most) {
    const std::vector<Candidate> roots = large(tree_.roots());
    for (const Candidate& root : roots) open_.push(root);
    left_out_ = all_ - sum(roots);
    while (!open_.empty()) {
      const Candidate next = open_.top();
      open_.pop();
      if (!cut(next, most)) chosen_.push_back(next);
    }
    // More roots than colours: the largest have one.
    std::sort(chosen_.begin(), chosen_.end(),
              [](const Candidate& a, const Candidate& b) { return b < a; });
    if (chosen_.size() > most) chosen_.resize(most);
    return std::move(chosen_);
  }

 private:
  [[nodiscard]] std::vector<Candidate> large(std::span<const TaskId> tasks) const {
    std::vector<Candidate> found;
    for (const TaskId task : tasks) {
      const Flops work = work_[index(task)];
      if (work > 0 && work >= kLeastPart * all_) found.push_back({work, task});
    }
    return found;
  }
  static Flops sum(const std::vector<Candidate>& candidates) {
    Flops work = 0;
    for (const Candidate& each : candidates) work += each.work;
    return work;
  }
  // Puts the children in its place. @return whether that may be done
  bool cut(const Candidate& candidate, std::size_t most) {
    const std::vector<Candidate> parts = large(tree_.children(candidate.task));
    const Flops lost = candidate.work - sum(parts);
    if (parts.empty() || open_.size() + chosen_.size() + parts.size() > most ||
        left_out_ + lost > kMostLeftOut * all_) {
      return false;
    }
    left_out_ += lost;
    for (const Candidate& part : parts) open_.push(part);
    return true;
  }

  const TaskTree& tree_;
  std::vector<Flops> work_;
  Flops all_ = 0, left_out_ = 0;
  std::priority_queue<Candidate> open_;
  std::vector<Candidate> chosen_;
};

}  // namespace

Subtrees main_subtrees(const TaskTree& tree, std::size_t most) {
  Subtrees result;
  result.of_task.assign(tree.size(), -1);
  for (const Candidate& each : Chooser(tree).run(most)) {
    result.of_task[index(each.task)] = static_cast<std::int32_t>(result.roots.size());
    result.roots.push_back(each.task);
  }
  const auto bottom_up = tree.postorder();
  for (auto task = bottom_up.rbegin(); task != bottom_up.rend(); ++task) {
    const std::optional<TaskId> parent = tree.parent(*task);
    std::int32_t& own = result.of_task[index(*task)];
    if (own < 0 && parent) own = result.of_task[index(*parent)];
  }
  return result;
}

}  // namespace espalier::report
