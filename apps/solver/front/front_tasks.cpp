#include "solver/front/front_tasks.h"

#include <algorithm>

#include "solver/front/block_assembly.h"
#include "solver/front/flush_subnormals.h"
#include "solver/front/node_run.h"
#include "solver/front/tile_work.h"
#include "solver/kernels/pivot_block.h"

namespace espalier::solver {
namespace {

// What is read at a time of a contribution block in the file, at least.
constexpr std::int64_t kReadEntries = std::int64_t{1} << 16;

// compute_tile() of a compressed front. @return whether nothing is left to do in its
// column
template <class T>
bool compute_compressed(const TileShape& shape, const TileTask& task, Front<T>& front) {
  using Kind = TileTask::Kind;
  if (task.kind == Kind::kAccept) return true;
  if (task.kind == Kind::kUpdate)
    return front.update_by_tiles(task.column, task.row, task.source,
                                 shape.sources_end(task.column, task.source));
  const bool good = compute_tile(shape, task, front);
  // Of a last block column that is all of a front's rows nothing is accepted.
  return task.kind == Kind::kFactor && good && !shape.accepts(task.column);
}

template <class T>
void run_fronts(const FrontContext<T>& context, std::int32_t node) {
  const AssemblyTree::Node& sizes = context.tree.nodes[node];
  FrontStack<T> stack(sizes, context.meter, context.pool);
  NodeRun<T>(context, sizes, 0, context.contributions[node].template as<T>(), stack)
      .run();
}

// The same operations as on many workers, in an order of their own.
template <class T>
void run_tiled_front(const FrontContext<T>& context, std::int32_t node) {
  Front<T> front(context, context.tree.nodes[node].last_front,
                 context.factor.storage[node].template as<T>(),
                 context.contributions[node].template as<T>());
  const TileShape shape = shape_of(context, front);
  BlockAssembly<T> assembly(context, front, shape.slices);
  run_in_turn(context, shape, front.front(),
              [&](const TileTask& task) { run_tile(shape, task, front, assembly); });
}

}  // namespace

template <class T>
void take_panels(const FrontContext<T>& context, std::int32_t node, bool reserved,
                 PageContent content) {
  const Bytes bytes = context.tree.nodes[node].factor_bytes;
  PageBuffer& panels = context.factor.storage[node];
  PageBuffer former;
  if (!context.former.empty()) former = std::move(context.former[node]);
  if (former.same_as(bytes, reserved)) {
    panels = PageBuffer::renew(std::move(former), context.meter, content);
    return;
  }
  former.release();
  panels = reserved ? PageBuffer::reserve(bytes, context.meter, context.pool)
                    : PageBuffer(bytes, context.meter, context.pool, content);
}

template <class T>
void allocate_node(const FrontContext<T>& context, std::int32_t node) {
  const AssemblyTree::Node& sizes = context.tree.nodes[node];
  const auto content =  // BlockAssembly clears what it assembles
      sizes.tiled ? PageBuffer::Content::kUntouched : PageBuffer::Content::kZeros;
  const bool in_turn = sizes.early_last >= 0;
  take_panels(context, node, sizes.by_blocks || in_turn, content);
  if (in_turn) context.factor.storage[node].fill(0, sizes.early_factor_bytes);
  const Bytes bytes = sizes.contribution_bytes;
  context.contributions[node] =
      sizes.by_blocks ? PageBuffer::reserve(bytes, context.meter, context.pool)
                      : PageBuffer(bytes, context.meter, context.pool, content);
}

template <class T>
void run_sequential_node(const FrontContext<T>& context, std::int32_t node) {
  allocate_node(context, node);
  if (context.tree.nodes[node].tiled)
    run_tiled_front(context, node);
  else
    run_fronts(context, node);
}

template <class T>
void run_tile(const TileShape& shape, const TileTask& task, Front<T>& front,
              BlockAssembly<T>& assembly) {
  using Kind = TileTask::Kind;
  const FlushSubnormals flush;
  if (task.kind == Kind::kAssemble) {
    assembly.assemble(task.source);
    return assembly.finish(task.source);
  }
  if (!front.is_low_rank())
    compute_tile(shape, task, front);
  else if (compute_compressed(shape, task, front))
    assembly.put_together(task.column);
}

template <class T>
void spill_node(const FrontContext<T>& context, std::int32_t node, bool written,
                const std::function<void()>& done) {
  const AssemblyTree::Node& place = context.tree.nodes[node];
  PageBuffer& factor = context.factor.storage[node];
  PageBuffer& contribution = context.contributions[node];
  const auto bytes = [](const PageBuffer& buffer) {
    return std::span<const std::byte>(buffer.data(),
                                      static_cast<std::size_t>(buffer.size()));
  };
  const bool spill_contribution = place.contribution_at >= 0 && contribution.size() > 0;
  if (place.factor_at >= 0 && written) factor.release();
  if (place.factor_at >= 0 && factor.size() > 0) {
    context.file->write(place.factor_at, bytes(factor),
                        [&factor, done, last = !spill_contribution] {
                          factor.release();
                          if (last) done();
                        });
  } else if (!spill_contribution) {
    done();
  }
  if (!spill_contribution) return;
  context.file->write(place.contribution_at, bytes(contribution), [&contribution, done] {
    contribution.release();
    done();
  });
}

Bytes scratch_bytes(const Symbolic& symbolic, const AssemblyTree& tree, FactorKind kind) {
  if (tree.block_width.empty()) return 0;
  // Delayed columns make a front wider than planned, but not than the matrix.
  const std::int64_t width = std::min(
      *std::max_element(tree.block_width.begin(), tree.block_width.end()), symbolic.size);
  std::int64_t entries =
      std::max(kernels::pivot_scratch(kind, static_cast<std::int32_t>(width)),
               kind == FactorKind::kLdlt ? width * width : 0);
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.low_rank) {
      const std::int64_t own = tree.block_width[node.last_front];
      entries = std::max(
          {entries, kernels::update_scratch(own), kernels::compress_scratch(own, own)});
    }
  for (const AssemblyTree::Node& node : tree.nodes)
    if (node.contribution_at >= 0)
      entries = std::max(
          {entries, kReadEntries, std::int64_t{symbolic.front_order(node.last_front)}});
  return tree.entry_bytes * entries;
}

#define ESPALIER_INSTANTIATE(T)                                                       \
  template void take_panels(const FrontContext<T>&, std::int32_t, bool, PageContent); \
  template void allocate_node(const FrontContext<T>&, std::int32_t);                  \
  template void run_sequential_node(const FrontContext<T>&, std::int32_t);            \
  template void run_tile(const TileShape&, const TileTask&, Front<T>&,                \
                         BlockAssembly<T>&);                                          \
  template void spill_node(const FrontContext<T>&, std::int32_t, bool,                \
                           const std::function<void()>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
