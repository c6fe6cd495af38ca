#pragma once

// Random systems, distributions of them, and a factor as each process would have it.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/front_distribution.h"
#include "solver/runtime/factorise.h"
#include "solver/support/square_systems.h"

namespace espalier::solver {

enum class Sharing { kRandom, kAll, kNone };

/// @param may_share  of each node: only single fronts without delays
inline FrontDistribution random_distribution(std::mt19937& random,
                                             const Symbolic& symbolic,
                                             const AssemblyTree& tree,
                                             std::int32_t processes, Sharing sharing,
                                             const std::vector<bool>& may_share) {
  FrontDistribution distribution;
  distribution.processes = processes;
  distribution.group.resize(tree.nodes.size());
  distribution.owner.resize(tree.nodes.size());
  for (auto node = std::ssize(tree.nodes) - 1; node >= 0; --node) {
    const std::int32_t front = tree.nodes[node].last_front;
    const std::int32_t above = symbolic.parent[front];
    const WorkerRange from = above >= 0 ? distribution.group[tree.node_of_front[above]]
                                        : WorkerRange{0, processes};
    WorkerRange& group = distribution.group[node];
    group = from;
    if (sharing == Sharing::kRandom) {
      group.count = draw(random, 1, from.count);
      group.first = from.first + draw(random, 0, from.count - group.count);
    }
    if (!may_share[node] || sharing == Sharing::kNone)
      group = {group.first + draw(random, 0, group.count - 1), 1};
    if (group.count == 1) continue;
    const std::int32_t blocks = tree.panel(symbolic, front).blocks() +
                                tree.contribution(symbolic, front).blocks();
    for (std::int32_t k = 0; k < blocks; ++k)
      distribution.owner[node].push_back(group.first + draw(random, 0, group.count - 1));
  }
  return distribution;
}

inline std::string describe(const FrontDistribution& distribution) {
  std::string text = fmt::format("{} processes;", distribution.processes);
  for (std::size_t node = 0; node < distribution.group.size(); ++node)
    text += fmt::format(" {}+{}[{}]", distribution.group[node].first,
                        distribution.group[node].count,
                        fmt::join(distribution.owner[node], ","));
  return text;
}

template <class T>
struct DistributedSystem {
  DistributedSystem(SquareMatrix&& matrix, FactorKind kind, std::mt19937& random,
                    Bytes delay_reserve = 0)
      : analysis(analyse(std::move(matrix), random_analysis(random))),
        options(random_assembly(random)) {
    options.kind = kind;
    options.entry_bytes = sizeof(T);
    options.block_width = draw(random, 1, 12);
    tree = build_assembly_tree(analysis.symbolic, options);
    PivotOptions pivoting;
    pivoting.perturbation = 1e-3;
    pivoting.delay_reserve = delay_reserve;
    if (delay_reserve > 0) pivoting.threshold = 0.3;
    auto result =
        factorise_sequentially<T>({analysis.symbolic, analysis.permuted, tree, pivoting},
                                  tree.tasks.postorder(), report);
    if (result) factor = std::move(*result);
    factored = result.has_value();
  }

  [[nodiscard]] FactorView<T> view() const { return {analysis.symbolic, tree, factor}; }
  [[nodiscard]] std::int32_t size() const { return analysis.symbolic.size; }

  /// Of each node: one front, without delays.
  [[nodiscard]] std::vector<bool> may_share() const {
    std::vector<bool> result;
    for (const AssemblyTree::Node& node : tree.nodes)
      result.push_back(node.first_front == node.last_front &&
                       factor.front[node.last_front].delays == nullptr);
    return result;
  }

  /// What a process has of the factor; what it has not is not a number.
  [[nodiscard]] Factor<T> part(const FrontDistribution& distribution,
                               std::int32_t process) const {
    Factor<T> part(analysis.symbolic, tree);
    for (std::size_t s = 0; s < part.front.size(); ++s) {
      part.front[s].offset = factor.front[s].offset;
      if (factor.front[s].delays)
        part.front[s].delays = std::make_unique<FrontDelays<T>>(*factor.front[s].delays);
    }
    for (std::int32_t node = 0; node < std::ssize(tree.nodes); ++node)
      part.storage[node] = storage_of(distribution, node, process);
    const auto ranges = column_ranges(analysis.symbolic, tree, distribution);
    std::fill(part.d.begin(), part.d.end(), std::numeric_limits<T>::quiet_NaN());
    for (const ColumnRange& range : ranges) {
      if (range.owner != process) continue;
      const auto copy = [&](const auto& from, auto& to, std::int64_t width) {
        if (!from.empty())
          std::copy(from.begin() + width * range.begin, from.begin() + width * range.end,
                    to.begin() + width * range.begin);
      };
      copy(factor.row_order, part.row_order, 1);
      copy(factor.column_order, part.column_order, 1);
      copy(factor.d, part.d, 2);
    }
    return part;
  }

  Analysis analysis;
  AssemblyOptions options;
  AssemblyTree tree;
  FactorReport report;
  Factor<T> factor;
  bool factored = false;

 private:
  [[nodiscard]] PageBuffer storage_of(const FrontDistribution& distribution,
                                      std::int32_t node, std::int32_t process) const {
    const PageBuffer& whole = factor.storage[node];
    if (!distribution.takes_part(node, process) || whole.size() == 0) return {};
    PageBuffer mine(whole.size());
    const auto entries = static_cast<std::int64_t>(whole.size() / sizeof(T));
    if (!distribution.shared(node)) {
      std::copy_n(whole.as<T>(), entries, mine.as<T>());
      return mine;
    }
    std::fill_n(mine.as<T>(), entries, std::numeric_limits<T>::quiet_NaN());
    const Trapezoid panel = tree.panel(analysis.symbolic, tree.nodes[node].last_front);
    for (std::int32_t k = 0; k < panel.blocks(); ++k) {
      if (distribution.owner_of(node, k) != process) continue;
      for (std::int32_t side = 0; side < tree.sides(); ++side) {
        const std::int64_t at = side * panel.entries() + panel.offset(k);
        std::copy_n(whole.as<T>() + at, std::int64_t{panel.leading(k)} * panel.width(k),
                    mine.as<T>() + at);
      }
    }
    return mine;
  }
};

/// Symmetric or on both sides, as the kind asks for.
inline SquareMatrix of_kind(SquareMatrix a, FactorKind kind) {
  if (kind == FactorKind::kLu && a.symmetric()) a.upper = a.lower.value;
  if (kind != FactorKind::kLu) a.upper.clear();
  return a;
}

}  // namespace espalier::solver
