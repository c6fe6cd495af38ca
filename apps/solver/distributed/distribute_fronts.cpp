#include "solver/distributed/distribute_fronts.h"

#include <algorithm>
#include <utility>

namespace espalier::solver {
namespace {

// How much of `amount` each process receives so that the least loaded come level.
std::vector<double> level(std::span<const double> load, double amount) {
  std::vector<double> sorted(load.begin(), load.end());
  std::sort(sorted.begin(), sorted.end());
  double height = sorted[0], left = amount;
  for (std::size_t k = 0; k < sorted.size(); ++k) {
    const double next = k + 1 < sorted.size() ? sorted[k + 1] : height + left;
    const double step = std::min(next - height, left / static_cast<double>(k + 1));
    height += step;
    left -= step * static_cast<double>(k + 1);
    if (left <= 0) break;
  }
  std::vector<double> share;
  for (const double now : load) share.push_back(std::max(0.0, height - now));
  return share;
}

class Assignment {
 public:
  Assignment(const Symbolic& symbolic, const AssemblyTree& tree,
             FrontDistribution& distribution)
      : symbolic_(symbolic),
        tree_(tree),
        distribution_(distribution),
        kept_(static_cast<std::size_t>(distribution.processes), 0) {
    for (std::size_t i = 0; i < tree.nodes.size(); ++i)
      if (!distribution.shared(static_cast<std::int32_t>(i)))
        kept_[distribution.group[i].first] +=
            static_cast<double>(tree.nodes[i].factor_bytes);
  }

  // The block columns of a shared node; its children's have been given.
  void give(std::int32_t node) {
    const std::int32_t front = tree_.nodes[node].last_front;
    distribution_.owner[node].reserve(
        static_cast<std::size_t>(tree_.panel(symbolic_, front).blocks() +
                                 tree_.contribution(symbolic_, front).blocks()));
    std::vector<double> load = kept_;
    deal_out(node, tree_.panel(symbolic_, front), load, kept_);
    load = kept_;
    if (const auto parent = tree_.tasks.parent(task_id(node)))
      for (const TaskId sibling : tree_.tasks.children(*parent))
        add_contribution(static_cast<std::int32_t>(index(sibling)), load);
    std::vector<double> waiting(load.size(), 0);
    deal_out(node, tree_.contribution(symbolic_, front), load, waiting);
  }

 private:
  [[nodiscard]] double bytes(const Trapezoid& layout, std::int32_t block) const {
    return static_cast<double>(tree_.sides() * tree_.entry_bytes) *
           layout.leading(block) * layout.width(block);
  }

  // What each process has of a node's contribution block, as far as that is decided.
  void add_contribution(std::int32_t node, std::vector<double>& load) const {
    if (!distribution_.shared(node)) {
      load[distribution_.group[node].first] +=
          static_cast<double>(tree_.nodes[node].contribution_bytes);
      return;
    }
    const std::int32_t front = tree_.nodes[node].last_front;
    const Trapezoid layout = tree_.contribution(symbolic_, front);
    const auto panels = static_cast<std::size_t>(tree_.panel(symbolic_, front).blocks());
    const std::vector<std::int32_t>& owner = distribution_.owner[node];
    for (std::size_t b = panels; b < owner.size(); ++b)
      load[owner[b]] += bytes(layout, static_cast<std::int32_t>(b - panels));
  }

  // Each block to the process that is furthest behind its part of what was dealt out: in
  // turn, but less to who has more.
  void deal_out(std::int32_t node, const Trapezoid& layout, std::span<const double> load,
                std::vector<double>& given) {
    const WorkerRange group = distribution_.group[node];
    double all = 0;
    for (std::int32_t b = 0; b < layout.blocks(); ++b) all += bytes(layout, b);
    const std::vector<double> part =
        level(load.subspan(static_cast<std::size_t>(group.first),
                           static_cast<std::size_t>(group.count)),
              all);
    std::vector<double> dealt(part.size(), 0);
    double done = 0;
    for (std::int32_t b = 0; b < layout.blocks(); ++b) {
      const double size = bytes(layout, b);
      done += size;
      std::size_t best = 0;
      double most = -all - 1;
      for (std::size_t k = 0; k < part.size(); ++k) {
        const double behind = part[k] * (done / all) - dealt[k];
        if (behind > most) {
          most = behind;
          best = k;
        }
      }
      dealt[best] += size;
      const auto process = group.first + static_cast<std::int32_t>(best);
      given[process] += size;
      distribution_.owner[node].push_back(process);
    }
  }

  const Symbolic& symbolic_;
  const AssemblyTree& tree_;
  FrontDistribution& distribution_;
  std::vector<double> kept_;  // bytes of panels that each process will have in the end
};

}  // namespace

FrontDistribution distribute_fronts(const Symbolic& symbolic, const AssemblyTree& tree,
                                    std::int32_t processes,
                                    std::vector<WorkerRange> groups) {
  FrontDistribution distribution;
  distribution.processes = processes;
  distribution.group = std::move(groups);
  distribution.owner.resize(tree.nodes.size());
  Assignment assignment(symbolic, tree, distribution);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)  // children first
    if (const auto node = static_cast<std::int32_t>(i); distribution.shared(node))
      assignment.give(node);
  return distribution;
}

}  // namespace espalier::solver
