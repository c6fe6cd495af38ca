#pragma once

// Exhaustive answers for tiny trees, straight from the definition of memory in use.

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

#include "espalier/model/task_tree.h"

namespace espalier::support {

/// Bytes in memory when the tasks of `done` (a bit a task) have run and nothing runs.
inline Bytes memory_after(const TaskTree& tree, std::uint32_t done) {
  Bytes bytes = 0;
  for (std::size_t i = 0; i < tree.size(); ++i) {
    if ((done >> i & 1) == 0) continue;
    bytes += tree.retained_size(task_id(i));
    const auto parent = tree.parent(task_id(i));
    if (!parent || (done >> index(*parent) & 1) == 0) {
      bytes += tree.output_size(task_id(i));
    }
  }
  return bytes;
}

/// Least peak over all sequential orders: a dynamic program over the sets of tasks that
/// may have run. Up to 16 tasks.
inline Bytes exact_peak(const TaskTree& tree) {
  constexpr Bytes kUnreachable = std::numeric_limits<Bytes>::max();
  const std::uint32_t all = (std::uint32_t{1} << tree.size()) - 1;
  std::vector<std::uint32_t> children(tree.size(), 0);
  for (std::size_t i = 0; i < tree.size(); ++i) {
    for (const TaskId child : tree.children(task_id(i))) {
      children[i] |= std::uint32_t{1} << index(child);
    }
  }
  std::vector<Bytes> peak(std::size_t{all} + 1, kUnreachable);
  peak[0] = 0;
  for (std::uint32_t done = 0; done < all; ++done) {
    if (peak[done] == kUnreachable) continue;
    const Bytes before = memory_after(tree, done);
    for (std::size_t i = 0; i < tree.size(); ++i) {
      if ((done >> i & 1) != 0 || (children[i] & ~done) != 0) continue;
      const TaskId task = task_id(i);
      const Bytes during = before + tree.execution_size(task) + tree.output_size(task) +
                           tree.retained_size(task);
      Bytes& after = peak[done | std::uint32_t{1} << i];
      after = std::min(after, std::max(peak[done], during));
    }
  }
  return peak[all];
}

/// Peak of one order, from memory_after().
inline Bytes peak_of(const TaskTree& tree, const std::vector<TaskId>& order) {
  Bytes peak = 0;
  std::uint32_t done = 0;
  for (const TaskId task : order) {
    peak = std::max(peak, memory_after(tree, done) + tree.execution_size(task) +
                              tree.output_size(task) + tree.retained_size(task));
    done |= std::uint32_t{1} << index(task);
  }
  return peak;
}

/// Calls `visit` with every postorder: all permutations of the children of every task and
/// of the roots.
inline void for_each_postorder(
    const TaskTree& tree, const std::function<void(const std::vector<TaskId>&)>& visit) {
  std::vector<std::vector<TaskId>> siblings;  // by task, roots last
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const auto children = tree.children(task_id(i));
    siblings.emplace_back(children.begin(), children.end());
  }
  siblings.emplace_back(tree.roots().begin(), tree.roots().end());
  std::vector<TaskId> order;
  const std::function<void(std::size_t)> emit = [&](std::size_t list) {
    for (const TaskId task : siblings[list]) {
      emit(index(task));
      order.push_back(task);
    }
  };
  // An odometer of permutations: next_permutation() says false when it wraps round.
  std::size_t turned = 0;
  while (turned < siblings.size()) {
    order.clear();
    emit(tree.size());
    visit(order);
    turned = 0;
    while (turned < siblings.size() &&
           !std::next_permutation(siblings[turned].begin(), siblings[turned].end())) {
      ++turned;
    }
  }
}

}  // namespace espalier::support
