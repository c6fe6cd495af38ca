#include "espalier/sequential/series_parallel_traversal.h"

#include "espalier/sequential/profile_heaps.h"

namespace espalier {

tl::expected<Traversal, NotSeriesParallel> series_parallel_traversal(
    const EdgeWeightedDag& dag) {
  const auto decomposition = two_terminal_decomposition(dag.size(), dag.arcs());
  if (!decomposition) return tl::unexpected(decomposition.error());
  if (dag.empty()) return Traversal{};
  std::vector<TaskId> next(dag.size());
  ProfileHeaps profiles(next);
  std::vector<ProfileHeaps::Handle> of_arc(decomposition->arcs);
  for (const Reduction& step : decomposition->steps) {
    ProfileHeaps::Handle& kept = of_arc[static_cast<std::size_t>(step.kept)];
    const ProfileHeaps::Handle removed = of_arc[static_cast<std::size_t>(step.removed)];
    if (step.kind == Reduction::Kind::kParallel) {
      kept = profiles.parallel(kept, removed);
      continue;
    }
    const TaskId x = step.vertex;
    const Segment alone{dag.execution_size(x) + dag.output_size(x),
                        dag.output_size(x) - dag.input_size(x), x, x};
    kept = profiles.series(kept, alone, removed);
  }
  const Segment all =
      profiles.whole(of_arc[static_cast<std::size_t>(decomposition->all)]);
  return Traversal{rope(all, next), all.peak};
}

}  // namespace espalier
