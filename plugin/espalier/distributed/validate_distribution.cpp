#include "espalier/distributed/validate_distribution.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "espalier/model/task_number.h"
#include "espalier/model/violations.h"

namespace espalier {
namespace {

// floor(total * pieces / all)
Bytes part_of(Bytes total, Bytes pieces, Bytes all) {
  __extension__ using Wide = __int128;
  return static_cast<Bytes>(static_cast<Wide>(total) * pieces / all);
}

// What a process has of one task: pieces first … first + count - 1, and of its inputs.
struct Share {
  Bytes first = 0, count = 0, held = 0;
};

class DistributionCheck {
 public:
  DistributionCheck(const TaskTree& tree, const Distribution& distribution)
      : tree_(tree), d_(distribution) {}

  Violations run() {
    check_sizes();
    if (!wrong_.empty()) return std::move(wrong_);
    for (std::size_t i = 0; i < tree_.size(); ++i) check_owners(task_id(i));
    check_witness();
    if (!wrong_.empty()) return std::move(wrong_);
    load_.assign(d_.peak.size(), 0);
    peak_ = load_;
    for (const TaskId task : d_.witness) run_task(task);
    check_peaks();
    return std::move(wrong_);
  }

 private:
  template <class... Args>
  void require(bool holds, fmt::format_string<Args...> format, Args&&... args) {
    if (!holds) complain(wrong_, fmt::format(format, std::forward<Args>(args)...));
  }

  void check_sizes() {
    const std::size_t n = tree_.size();
    require(d_.processes >= 1, "{} processes", d_.processes);
    require(d_.peak.size() == static_cast<std::size_t>(std::max(0, d_.processes)),
            "{} peaks for {} processes", d_.peak.size(), d_.processes);
    require(d_.group.size() == n && d_.witness.size() == n,
            "{} groups and {} tasks in the witness, the tree has {}", d_.group.size(),
            d_.witness.size(), n);
    require(d_.first_owner.size() == n + 1 && d_.first_owner.front() == 0 &&
                d_.first_owner.back() == d_.owner.size() &&
                std::ranges::is_sorted(d_.first_owner),
            "the owners of tasks are not lists one after the other");
  }

  void check_owners(TaskId task) {
    const WorkerRange& group = d_.group[index(task)];
    require(
        group.first >= 0 && group.count >= 1 && group.count <= d_.processes - group.first,
        "task {} has {} processes from {} on, there are {}", number(task), group.count,
        group.first, d_.processes);
    require(!d_.owners(task).empty(), "task {} has no owner", number(task));
    std::int32_t last = -1;
    for (const Owner& owner : d_.owners(task)) {
      require(group.contains(owner.process) && owner.process > last && owner.pieces > 0,
              "task {}: process {} has {} pieces, out of turn or outside its group",
              number(task), owner.process, owner.pieces);
      last = owner.process;
    }
    for (const TaskId child : tree_.children(task)) {
      const WorkerRange& inner = d_.group[index(child)];
      require(inner.first >= group.first &&
                  inner.first + inner.count <= group.first + group.count,
              "the group of task {} is not inside that of its parent {}", number(child),
              number(task));
    }
  }

  void check_witness() {
    std::vector<bool> ended(tree_.size(), false);
    for (const TaskId task : d_.witness) {
      if (index(task) >= tree_.size() || ended[index(task)])
        return require(false, "task {} of the witness is none or has run", number(task));
      for (const TaskId child : tree_.children(task))
        require(ended[index(child)], "task {} runs before its child {}", number(task),
                number(child));
      ended[index(task)] = true;
    }
  }

  [[nodiscard]] Bytes pieces_of(TaskId task) const {
    Bytes all = 0;
    for (const Owner& owner : d_.owners(task)) all += owner.pieces;
    return all;
  }

  // Calls visit(process, first piece, pieces) for each owner.
  template <class Visit>
  void for_each_owner(TaskId task, Visit visit) const {
    Bytes first = 0;
    for (const Owner& owner : d_.owners(task)) {
      visit(owner.process, first, Bytes{owner.pieces});
      first += owner.pieces;
    }
  }

  // Of each process that owns pieces of the task or holds output of its children.
  [[nodiscard]] std::map<std::int32_t, Share> shares_of(TaskId task) const {
    std::map<std::int32_t, Share> shares;
    for (const TaskId child : tree_.children(task)) {
      const Bytes output = tree_.output_size(child), all = pieces_of(child);
      for_each_owner(child, [&](std::int32_t process, Bytes first, Bytes count) {
        const Bytes held =
            part_of(output, first + count, all) - part_of(output, first, all);
        if (held > 0) shares[process].held += held;
      });
    }
    for_each_owner(task, [&](std::int32_t process, Bytes first, Bytes count) {
      shares[process].first = first;
      shares[process].count = count;
    });
    return shares;
  }

  // Two pieces or two messages, where several take part.
  [[nodiscard]] Bytes buffer_of(TaskId task, std::size_t takes_part, Bytes all) const {
    if (takes_part <= 1) return 0;
    Bytes message = 0;
    for (const TaskId child : tree_.children(task))
      message = std::max(message, std::min(kLeastPiece, tree_.output_size(child)));
    const Bytes whole = tree_.output_size(task) + tree_.retained_size(task);
    return 2 * std::max(message, all == 1 ? 0 : whole / all + (whole % all != 0));
  }

  void run_task(TaskId task) {
    const std::map<std::int32_t, Share> shares = shares_of(task);
    const Bytes all = pieces_of(task), m = tree_.execution_size(task);
    const Bytes buffer = buffer_of(task, shares.size(), all);
    for (const auto& [process, share] : shares) {
      const auto cut = [&, &mine = share](Bytes total) {
        return part_of(total, mine.first + mine.count, all) -
               part_of(total, mine.first, all);
      };
      const Bytes kept = cut(tree_.output_size(task)) + cut(tree_.retained_size(task));
      Bytes running = m >= 0 ? cut(m) : 0;
      if (m < 0 && tree_.input_size(task) > 0)
        running = -std::min({part_of(-m, share.count, all),
                             part_of(-m, share.held, tree_.input_size(task)), kept,
                             share.held});
      if (share.count > 0) running += buffer;
      const auto at = static_cast<std::size_t>(process);
      peak_[at] = std::max(peak_[at], load_[at] + kept + running);
      load_[at] += kept - share.held;
    }
  }

  void check_peaks() {
    for (std::size_t p = 0; p < peak_.size(); ++p) {
      require(peak_[p] == d_.peak[p], "the peak of process {} is {}, not {}", p, peak_[p],
              d_.peak[p]);
      require(peak_[p] <= d_.bound, "process {} needs {}, the bound is {}", p, peak_[p],
              d_.bound);
    }
    require(d_.lower_bound <= std::ranges::max(peak_),
            "no peak reaches the lower bound {}", d_.lower_bound);
  }

  const TaskTree& tree_;
  const Distribution& d_;
  std::vector<Bytes> load_, peak_;  // of each process
  Violations wrong_;
};

}  // namespace

Violations validate(const TaskTree& tree, const Distribution& distribution) {
  return DistributionCheck(tree, distribution).run();
}

}  // namespace espalier
