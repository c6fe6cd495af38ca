#include "solver/front/tile_work.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::solver {

template <class T>
TileShape shape_of(const FrontContext<T>& context, const Front<T>& front) {
  const std::int32_t planned =
      context.tree.panel(context.symbolic, front.front()).blocks();
  return tile_shape(context.tree, front.front(), front.panels(), front.blocks(),
                    context.pivoting.delay_reserve > 0, front.panels() - planned);
}

template <class T>
bool compute_tile(const TileShape& shape, const TileTask& task, Front<T>& front) {
  using Kind = TileTask::Kind;
  const auto first_of = [&](std::int32_t block) {
    return block < shape.blocks ? block_column(front.storage(), block).first
                                : front.order();
  };
  const std::int32_t end = first_of(shape.first_block(task.row + 1));
  switch (task.kind) {
    case Kind::kFactor:
      return front.factor(task.column, end);
    case Kind::kSolve:
      front.solve(task.column, first_of(shape.first_block(task.row)), end);
      break;
    case Kind::kAccept:
      front.accept(task.column);
      break;
    case Kind::kUpdate:
      front.update(task.column, task.source,
                   first_of(std::max(shape.first_block(task.row), task.column)), end);
      break;
    case Kind::kFinish:
      front.finish_pivots();
      break;
    case Kind::kAssemble:
    case Kind::kAdd:
    case Kind::kTake:
    case Kind::kPutBack:
      ESPALIER_ASSERT(false, "whoever has the tiles of the front does these");
  }
  return true;
}

#define ESPALIER_INSTANTIATE(T)                                         \
  template TileShape shape_of(const FrontContext<T>&, const Front<T>&); \
  template bool compute_tile(const TileShape&, const TileTask&, Front<T>&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
