#include "espalier/layout/layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "espalier/layout/components.h"
#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"
#include "espalier/layout/search_layout.h"

namespace espalier {
namespace {

// A component and the search for its layout.
struct Task {
  Component component;
  SearchLayout search;
  [[nodiscard]] Bytes top() const { return component.base + search.capacity_bytes(); }
  [[nodiscard]] Bytes bound() const {
    return component.base + search.lower_bound_bytes();
  }
};

std::vector<Task> begin(Decomposition& decomposition, const LayoutOptions& options) {
  std::vector<Task> tasks;
  for (Component& component : decomposition.components) {
    Pieces pieces = component.pieces;
    tasks.push_back(
        {std::move(component), SearchLayout(std::move(pieces), options.seed)});
    tasks.back().search.begin();
  }
  return tasks;
}

// The highest component is searched, until it reaches what the whole needs anyway.
bool search(std::vector<Task>& tasks, Bytes load, const LayoutOptions& options) {
  LayoutBudget budget(options);
  const auto bound = [&] {
    Bytes most = load;
    for (const Task& task : tasks) most = std::max(most, task.bound());
    return most;
  };
  while (!tasks.empty()) {
    Task& highest = *std::ranges::max_element(tasks, {}, &Task::top);
    budget.capacity_bytes = std::max(load, highest.top());
    budget.lower_bound_bytes = bound();
    const Bytes goal = std::max(bound(), options.capacity.value_or(0));
    if (highest.top() <= goal) return false;
    const Bytes before = highest.top(), bound_before = highest.bound();
    highest.search.search(goal - highest.component.base, budget);
    if (budget.was_spent()) return true;
    if (highest.top() == before && highest.bound() == bound_before) return true;
  }
  return false;
}

}  // namespace

Layout layout(const BufferSet& buffers, const LayoutOptions& options) {
  if (options.alignment < 1)
    throw InvalidInput(fmt::format("the alignment {} is below 1", options.alignment));
  const Pieces pieces = pieces_of(buffers.buffers(), options.alignment);
  Layout best;
  best.load_bytes = best.lower_bound_bytes = load(pieces);
  Decomposition decomposition = decompose(pieces);
  best.offsets = std::move(decomposition.offsets);
  std::vector<Task> tasks = begin(decomposition, options);
  best.stopped = search(tasks, best.load_bytes, options);
  for (const Task& task : tasks) {
    best.lower_bound_bytes = std::max(best.lower_bound_bytes, task.bound());
    const std::vector<std::int32_t>& numbers = task.component.numbers;
    for (std::size_t k = 0; k < numbers.size(); ++k)
      best.offsets[static_cast<std::size_t>(numbers[k])] =
          task.component.base + task.search.offsets()[k];
  }
  best.capacity_bytes = capacity(pieces, best.offsets);
  return best;
}

Infeasible infeasible(const Layout& best, Bytes capacity) {
  using Reason = Infeasible::Reason;
  return {best.lower_bound_bytes > capacity ? Reason::kImpossible : Reason::kNoneFound,
          capacity, best.capacity_bytes, best.lower_bound_bytes};
}

Expected<Layout> layout_within(const BufferSet& buffers, Bytes capacity,
                               LayoutOptions options) {
  options.capacity = capacity;
  Layout best = layout(buffers, options);
  if (best.capacity_bytes > capacity) return tl::unexpected(infeasible(best, capacity));
  return best;
}

}  // namespace espalier
