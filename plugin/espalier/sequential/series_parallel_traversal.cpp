#include "espalier/sequential/series_parallel_traversal.h"

#include <cstdint>
#include <numeric>
#include <vector>

#include "espalier/sequential/profile_heaps.h"

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

tl::expected<Traversal, NotSeriesParallel> series_parallel_traversal(
    const EdgeWeightedDag& dag) {
  const auto decomposition = two_terminal_decomposition(dag.size(), dag.arcs());
  if (!decomposition) return tl::unexpected(decomposition.error());
  if (dag.empty()) return Traversal{};
  std::vector<TaskId> next(dag.size());
  ProfileHeaps profiles(next);
  ArcProfiles arcs(profiles, decomposition->arcs);
  for (const Reduction& step : decomposition->steps) {
    if (step.kind == Reduction::Kind::kParallel) {
      arcs.put_beside(step.kept, step.removed);
      continue;
    }
    const TaskId x = step.vertex;
    const Segment alone{dag.execution_size(x) + dag.output_size(x),
                        dag.output_size(x) - dag.input_size(x), x, x};
    const auto before = arcs.merged(step.kept);
    arcs.assign(step.kept, profiles.series(before, alone, arcs.merged(step.removed)));
  }
  const Segment all = profiles.whole(arcs.merged(decomposition->all));
  return Traversal{rope(all, next), all.peak};
}

}  // namespace espalier
