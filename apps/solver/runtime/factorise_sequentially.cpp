#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "espalier/model/clock.h"
#include "espalier/model/pace.h"
#include "solver/front/front_tasks.h"
#include "solver/runtime/factorise.h"
#include "solver/runtime/node_team.h"

namespace espalier::solver {
namespace {

/// Tells another meter, too.
class ForwardingMeter : public MemoryMeter {
 public:
  explicit ForwardingMeter(MemoryMeter* other) : other_(other) {}

 private:
  void changed(Bytes delta) noexcept override {
    if (other_ != nullptr) other_->add(delta);
  }
  MemoryMeter* other_;
};

template <class T>
void run_pieces(const FrontContext<T>& context, const NodePieces& pieces,
                FactorReport& report, const std::function<void(double)>& progress) {
  std::atomic<Flops> done = 0;
  const Flops work = context.tree.tasks.work(task_id(0));
  Pace pace;
  Interrupt ask;
  if (progress)
    ask = [&] {
      if (pace.due()) progress(std::min(1.0, done / work));
    };
  report.booked_peak = pieces.bytes(context.tree);
  run_in_threads(context, pieces, ask, done, report);
}

// Until a pivot is bad.
template <class T>
void run_nodes(const FrontContext<T>& context, const FactorInput& input,
               std::span<const TaskId> order, FactorReport& report,
               const std::function<void(double)>& progress) {
  const TaskTree& tasks = input.tree.tasks;
  report.tasks = static_cast<std::int64_t>(order.size());
  Flops done = 0, work = 0;
  for (const TaskId task : order) work += tasks.work(task);
  for (const TaskId task : order) {
    const auto node = static_cast<std::int32_t>(index(task));
    const auto start = Clock::now();
    if (input.pieces != nullptr) {
      run_pieces(context, *input.pieces, report, progress);
    } else {
      run_sequential_node(context, node);
      report.busy_seconds += since(start);
    }
    if (context.log.failed()) return;
    spill_node<T>(context, node, false, [] {});
    if (input.file) input.file->wait();
    done += tasks.work(task);
    if (progress) progress(work > 0 ? done / work : 1);
  }
}

}  // namespace

template <class T>
tl::expected<Factor<T>, NotPositiveDefinite> factorise_sequentially(
    const FactorInput& input, std::span<const TaskId> order, FactorReport& report,
    const std::function<void(double)>& progress) {
  const auto start = Clock::now();
  const AssemblyTree& tree = input.tree;
  ForwardingMeter meter(input.resident);
  PivotLog log;
  DelayReserve reserve(input.pivoting.delay_reserve);
  const bool shared = input.pieces != nullptr;
  const WorkerScratch scratch(shared ? input.pieces->threads : 1,
                              scratch_bytes(input.symbolic, tree, tree.kind),
                              shared ? TaskPool::rank : nullptr);
  std::optional<PagePool> own_pool;
  PagePool* pool = shared ? input.pool : nullptr;
  if (shared && pool == nullptr)
    pool = &own_pool.emplace(input.pool_limit, input.resident);
  Factor<T> factor(input.symbolic, tree);
  std::vector<PageBuffer> contributions(tree.nodes.size());
  const FrontContext<T> context{.symbolic = input.symbolic,
                                .permuted = input.permuted,
                                .tree = tree,
                                .pivoting = input.pivoting,
                                .factor = factor,
                                .contributions = contributions,
                                .log = log,
                                .reserve = reserve,
                                .scratch = scratch,
                                .file = input.file.get(),
                                .meter = &meter,
                                .pool = pool,
                                .former = input.former,
                                .low_rank = input.low_rank};
  run_nodes(context, input, order, report, progress);
  if (log.failed()) return tl::make_unexpected(*log.failure());
  report.allocated_peak = meter.peak();
  report.pivots = log.statistics();
  report.low_rank = factor.low_rank();
  report.seconds = since(start);
  if (input.symbolic.kept() > 0) factor.kept = std::move(contributions.back());
  factor.forget_meter();
  if (own_pool) factor.forget_pool();
  factor.file = input.file;
  return factor;
}

namespace {

// For a record of a run.
constexpr Bytes kBytesPerRecordedTask = 512;

Bytes record_bytes(const FactorInput& input) {
  if (!input.record) return 0;
  const AssemblyTree& tree = input.tree;
  std::int64_t tasks = 0;
  for (const AssemblyTree::Node& node : tree.nodes) {
    ++tasks;
    if (!node.tiled) continue;
    tasks += TileGraph(tile_shape(input.symbolic, tree, node.last_front, true)).tasks();
  }
  return checked_mul(tasks, kBytesPerRecordedTask);
}

}  // namespace

template <class T>
Bytes workspace_bytes(const FactorInput& input, FactorKind kind, std::int32_t workers) {
  const PivotOptions& pivoting = input.pivoting;
  const Bytes delays = pivoting.delay_reserve == std::numeric_limits<Bytes>::max()
                           ? 0
                           : pivoting.delay_reserve;
  return checked_add(
      checked_add(Factor<T>::footprint(input.symbolic, kind), record_bytes(input)),
      checked_add(delays, workers * PageBuffer::footprint(scratch_bytes(
                                        input.symbolic, input.tree, kind))));
}

#define ESPALIER_INSTANTIATE(T)                                                    \
  template tl::expected<Factor<T>, NotPositiveDefinite> factorise_sequentially<T>( \
      const FactorInput&, std::span<const TaskId>, FactorReport&,                  \
      const std::function<void(double)>&);                                         \
  template Bytes workspace_bytes<T>(const FactorInput&, FactorKind, std::int32_t);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
