#include "espalier/sequential/series_parallel/series_parallel_traversal.h"

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
      : profiles_(profiles), of_(arcs), next_(arcs, kNoArc), last_(arcs) {
    for (const ArcId arc : last_.ids()) last_[arc] = arc;
  }

  void put_beside(ArcId arc, ArcId other) {
    next_[last_[arc]] = other;
    last_[arc] = last_[other];
  }

  void assign(ArcId arc, Handle profile) {
    of_[arc] = profile;
    next_[arc] = kNoArc;
    last_[arc] = arc;
  }

  Handle merged(ArcId arc) {
    list_.clear();
    for (; arc != kNoArc; arc = next_[arc]) list_.push_back(of_[arc]);
    return profiles_.parallel(list_);
  }

 private:
  ProfileHeaps& profiles_;
  IdVector<ArcId, Handle> of_;
  std::vector<Handle> list_;
  IdVector<ArcId, ArcId> next_, last_;
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
