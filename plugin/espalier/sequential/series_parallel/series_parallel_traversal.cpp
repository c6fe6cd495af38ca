#include "espalier/sequential/series_parallel/series_parallel_traversal.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "espalier/sequential/segments/profile_heaps.h"

namespace espalier {
namespace {

// What each arc stands for: profiles side by side, merged only when they are needed. Arcs
// side by side form a list.
class ArcProfiles {
 public:
  using Handle = ProfileHeaps::Handle;

  ArcProfiles(ProfileHeaps& profiles, std::size_t arcs)
      : profiles_(profiles), of_(arcs), next_(arcs, -1), last_(arcs) {
    std::iota(last_.begin(), last_.end(), 0);
  }

  void put_beside(std::int32_t arc, std::int32_t other) {
    next_[at(last_[at(arc)])] = other;
    last_[at(arc)] = last_[at(other)];
  }

  void assign(std::int32_t arc, Handle profile) {
    of_[at(arc)] = profile;
    next_[at(arc)] = -1;
    last_[at(arc)] = arc;
  }

  Handle merged(std::int32_t arc) {
    list_.clear();
    for (; arc >= 0; arc = next_[at(arc)]) list_.push_back(of_[at(arc)]);
    return profiles_.parallel(list_);
  }

 private:
  static std::size_t at(std::int32_t arc) { return static_cast<std::size_t>(arc); }

  ProfileHeaps& profiles_;
  std::vector<Handle> of_, list_;
  std::vector<std::int32_t> next_, last_;
};

}  // namespace

Traversal series_parallel_traversal(const TwoTerminalDecomposition& decomposition,
                                    std::span<const Segment> tasks) {
  if (tasks.empty()) return {};
  std::vector<TaskId> next(tasks.size());
  ProfileHeaps profiles(next);
  ArcProfiles arcs(profiles, decomposition.arcs);
  for (const Reduction& step : decomposition.steps) {
    if (step.kind == Reduction::Kind::kParallel) {
      arcs.put_beside(step.kept, step.removed);
      continue;
    }
    const auto before = arcs.merged(step.kept);
    const auto after = arcs.merged(step.removed);
    arcs.assign(step.kept, profiles.series(before, tasks[index(step.vertex)], after));
  }
  const Segment all = whole(profiles.segments(arcs.merged(decomposition.all)), next);
  return {rope(all, next), all.peak};
}

tl::expected<Traversal, NotSeriesParallel> series_parallel_traversal(
    const EdgeWeightedDag& dag) {
  const auto decomposition = two_terminal_decomposition(dag.size(), dag.arcs());
  if (!decomposition) return tl::unexpected(decomposition.error());
  std::vector<Segment> tasks;
  for (std::size_t i = 0; i < dag.size(); ++i) {
    const TaskId x = task_id(i);
    tasks.push_back({dag.execution_size(x) + dag.output_size(x),
                     dag.output_size(x) - dag.input_size(x), x, x});
  }
  return series_parallel_traversal(*decomposition, tasks);
}

}  // namespace espalier
