// The tasks of a front forwards, as they become ready, and backwards, what they wait for:
// over 300 lines.

#include "solver/tree/tile_graph.h"

#include <algorithm>
#include <queue>
#include <tuple>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {

using Kind = TileTask::Kind;

std::int64_t TileShape::most_ready() const {
  std::int64_t count = 0;
  for (std::int32_t j = 0; j < blocks; ++j)
    count += std::max(slices, groups() - group_of(j));
  return count;
}

TileGraph::TileGraph(const TileShape& shape, Mine mine)
    : shape_(shape),
      mine_(std::move(mine)),
      groups_(shape.groups()),
      tiles_(static_cast<std::size_t>(groups_) * shape.blocks),
      slices_left_(shape.blocks, shape.slices),
      slice_done_(static_cast<std::size_t>(shape.blocks) * shape.slices, 0),
      factored_(shape.panels, 0),
      finished_(!shape.has_tail) {
  for (std::int32_t k = 0; k < shape.panels; ++k)
    unsolved_.push_back(tiles_of(k) + (spread(k) ? 1 : 0));
  for (std::int32_t j = 0; j < shape.blocks; ++j)
    open_tiles_.push_back(groups_ - shape.group_of(j));
  total_ = count_tasks();
}

// Those that are mine.
std::int32_t TileGraph::tiles_of(std::int32_t column) const {
  std::int32_t count = 0;
  for (std::int32_t row = shape_.group_of(column); row < groups_; ++row)
    count += mine(row, column) ? 1 : 0;
  return count;
}

bool TileGraph::spread(std::int32_t panel) const {
  const std::int32_t own = tiles_of(panel);
  return shape_.accepts(panel) && own > 0 && own < groups_ - shape_.group_of(panel);
}

std::int64_t TileGraph::count_tasks() const {
  const TileShape& s = shape_;
  const bool finishes = s.has_tail && (s.panels == 0 || has_diagonal(s.panels - 1));
  std::int64_t count =
      (mine_.empty() ? std::int64_t{s.blocks} * s.slices : 0) + (finishes ? 1 : 0);
  for (std::int32_t j = 0; j < s.blocks; ++j) {
    const std::int64_t rows = tiles_of(j);
    const bool tail = s.has_tail && j >= s.panels;
    const std::int64_t updates = (std::min(j, s.panels) + s.batch - 1) / s.batch;
    count += rows * (updates + (tail ? 1 : 0));
    if (j < s.panels) count += rows + (s.accepts(j) && rows > 0 ? 1 : 0);
  }
  return count;
}

void TileGraph::start(std::vector<TileTask>& ready) {
  if (mine_.empty()) begin_slices(ready);
  if (shape_.panels == 0 && shape_.has_tail) ready.push_back({Kind::kFinish, 0, 0, 0});
}

void TileGraph::begin_slices(std::vector<TileTask>& ready) {
  const auto all = static_cast<std::int32_t>(slice_done_.size());
  const std::int32_t columns =
      shape_.ahead == 0 ? shape_.blocks : columns_done_ + shape_.ahead;
  const std::int32_t end =
      std::min({all, slices_done_ + shape_.window, columns * shape_.slices});
  for (; slices_begun_ < end; ++slices_begun_)
    ready.push_back({Kind::kAssemble, slices_begun_ / shape_.slices, 0, slices_begun_});
}

void TileGraph::end_slice(const TileTask& task, std::vector<TileTask>& ready) {
  slice_done_[task.source] = 1;
  const auto all = static_cast<std::int32_t>(slice_done_.size());
  while (slices_done_ < all && slice_done_[slices_done_] != 0) ++slices_done_;
  begin_slices(ready);
  if (--slices_left_[task.column] == 0) assembled(task.column, ready);
}

void TileGraph::assembled(std::int32_t column, std::vector<TileTask>& ready) {
  slices_left_[column] = 0;
  for (std::int32_t row = shape_.group_of(column); row < groups_; ++row)
    look(row, column, ready);
  if (column >= shape_.panels && shape_.panels == 0 && !shape_.has_tail) {
    open_tiles_[column] = 0;  // nothing updates it
    column_ended(column, ready);
  }
}

// All of a block column is as it stays: others may begin.
void TileGraph::column_ended(std::int32_t column, std::vector<TileTask>& ready) {
  if (shape_.ahead == 0 || column != columns_done_) return;
  while (columns_done_ < shape_.blocks && open_tiles_[columns_done_] == 0)
    ++columns_done_;
  begin_slices(ready);
}

void TileGraph::arrived(std::int32_t row, std::int32_t panel,
                        std::vector<TileTask>& ready) {
  make_final(row, panel, ready);
  if (row == shape_.group_of(panel)) diagonal_known(panel, ready);
}

// Makes the next task of a tile ready if it may run.
void TileGraph::look(std::int32_t row, std::int32_t column,
                     std::vector<TileTask>& ready) {
  Tile& own = tile(row, column);
  if (own.busy || own.final || slices_left_[column] > 0 || !mine(row, column)) return;
  const std::int32_t source = own.updates;
  if (source < std::min(column, shape_.panels)) {
    // What is final in a panel is so in those before it.
    const std::int32_t last = shape_.sources_end(column, source) - 1;
    if (!tile(row, last).final || !tile(shape_.group_of(column), last).final) return;
  } else if (column < shape_.panels) {
    return look_panel(row, column, ready);
  } else if (source > shape_.panels || !shape_.has_tail || !finished_) {
    return;
  }
  own.busy = true;
  ready.push_back({Kind::kUpdate, column, row, source});
}

// A tile of the panel that all updates have reached.
void TileGraph::look_panel(std::int32_t row, std::int32_t column,
                           std::vector<TileTask>& ready) {
  const std::int32_t first = shape_.group_of(column);
  if (row > first && factored_[column] == 0) return;
  tile(row, column).busy = true;
  ready.push_back({row > first ? Kind::kSolve : Kind::kFactor, column, row, 0});
}

// The rows of a group in a block column of the panel are final: they update the group's
// rows of later columns, and all rows of the group's own columns.
void TileGraph::make_final(std::int32_t row, std::int32_t column,
                           std::vector<TileTask>& ready) {
  Tile& own = tile(row, column);
  own.busy = false;
  own.final = true;
  --open_tiles_[column];
  const std::int32_t begin = shape_.first_block(row), end = shape_.first_block(row + 1);
  for (std::int32_t j = column + 1; j < begin; ++j) look(row, j, ready);
  for (std::int32_t j = std::max(begin, column + 1); j < end; ++j)
    for (std::int32_t below = row; below < groups_; ++below) look(below, j, ready);
}

// kFactor or kSolve has ended. What has to be accepted stays busy until then.
void TileGraph::solved(const TileTask& task, std::vector<TileTask>& ready) {
  const std::int32_t column = task.column;
  if (shape_.accepts(column)) {
    one_less_unsolved(column, ready);
  } else {
    --unsolved_[column];
    make_final(task.row, column, ready);
    if (unsolved_[column] == 0) panel_final(column, ready);
  }
  if (task.kind == Kind::kFactor) diagonal_known(column, ready);
}

// Of a panel that is tested.
void TileGraph::one_less_unsolved(std::int32_t column, std::vector<TileTask>& ready) {
  if (--unsolved_[column] == 0)
    ready.push_back({Kind::kAccept, column, shape_.group_of(column), 0});
}

// The diagonal block of a panel is factored: its other rows can be solved for.
void TileGraph::diagonal_known(std::int32_t column, std::vector<TileTask>& ready) {
  factored_[column] = 1;
  for (std::int32_t row = shape_.group_of(column) + 1; row < groups_; ++row)
    look(row, column, ready);
}

void TileGraph::accepted(std::int32_t column, std::vector<TileTask>& ready) {
  if (!has_diagonal(column)) return;  // mine arrive
  for (std::int32_t row = shape_.group_of(column); row < groups_; ++row)
    if (mine(row, column)) make_final(row, column, ready);
  panel_final(column, ready);
}

void TileGraph::panel_final(std::int32_t column, std::vector<TileTask>& ready) {
  if (mine_.empty()) column_ended(column, ready);
  if (shape_.has_tail && column + 1 == shape_.panels && has_diagonal(column) &&
      !spread(column))
    may_finish(ready);
}

void TileGraph::may_finish(std::vector<TileTask>& ready) {
  ready.push_back({Kind::kFinish, shape_.panels, 0, 0});
}

void TileGraph::end(const TileTask& task, std::vector<TileTask>& ready) {
  ++ended_;
  switch (task.kind) {
    case Kind::kAssemble:
      return end_slice(task, ready);
    case Kind::kFactor:
    case Kind::kSolve:
      return solved(task, ready);
    case Kind::kAccept:
      return accepted(task.column, ready);
    case Kind::kUpdate: {
      Tile& own = tile(task.row, task.column);
      own.busy = false;
      own.updates = shape_.sources_end(task.column, task.source);
      const std::int32_t all = shape_.panels + (shape_.has_tail ? 1 : 0);
      if (task.column >= shape_.panels && own.updates == all &&
          --open_tiles_[task.column] == 0 && mine_.empty())
        column_ended(task.column, ready);
      return look(task.row, task.column, ready);
    }
    case Kind::kFinish:
      return finished(ready);
    case Kind::kAdd:
    case Kind::kTake:
    case Kind::kPutBack:
      ESPALIER_ASSERT(false, "tasks of shared fronts are not in the graph");
  }
}

void TileGraph::finished(std::vector<TileTask>& ready) {
  finished_ = true;
  for (std::int32_t j = shape_.panels; j < shape_.blocks; ++j)
    for (std::int32_t row = shape_.group_of(j); row < groups_; ++row) look(row, j, ready);
}

namespace {

// The task that solves for the rows of a group in a panel.
TileTask solving(const TileShape& shape, std::int32_t row, std::int32_t column) {
  const bool diagonal = row == shape.group_of(column);
  return {diagonal ? Kind::kFactor : Kind::kSolve, column, row, 0};
}

// The task that leaves them final.
TileTask finalising(const TileShape& shape, std::int32_t row, std::int32_t column) {
  if (shape.accepts(column)) return {Kind::kAccept, column, shape.group_of(column), 0};
  return solving(shape, row, column);
}

// The tasks after which all of a panel is final.
void add_panel(const TileShape& shape, std::int32_t column,
               std::vector<TileTask>& result) {
  for (std::int32_t row = shape.group_of(column); row < shape.groups(); ++row) {
    const TileTask task = finalising(shape, row, column);
    if (result.empty() || task != result.back()) result.push_back(task);
  }
}

// What leaves a tile assembled and updated by the first `updates` sources.
void add_state(const TileShape& shape, std::int32_t row, std::int32_t column,
               std::int32_t updates, std::vector<TileTask>& result) {
  if (updates > 0) {
    result.push_back(
        {Kind::kUpdate, column, row, (updates - 1) / shape.batch * shape.batch});
    return;
  }
  for (std::int32_t s = 0; s < shape.slices; ++s)
    result.push_back({Kind::kAssemble, column, 0, column * shape.slices + s});
}

// The tasks after which all of a block column stays as it is.
void add_column(const TileShape& shape, std::int32_t column,
                std::vector<TileTask>& result) {
  if (column < shape.panels) return add_panel(shape, column, result);
  const std::int32_t updates = shape.panels + (shape.has_tail ? 1 : 0);
  const std::int32_t rows = updates > 0 ? shape.groups() : shape.group_of(column) + 1;
  for (std::int32_t row = shape.group_of(column); row < rows; ++row)
    add_state(shape, row, column, updates, result);
}

// What a slice waits for: those up to source - 2 window have ended before these began,
// and with them the block columns that those had waited for.
void add_before_slice(const TileShape& shape, std::int32_t slice,
                      std::vector<TileTask>& result) {
  for (std::int32_t u = std::max(0, slice - 2 * shape.window + 1);
       u <= slice - shape.window; ++u)
    result.push_back({Kind::kAssemble, u / shape.slices, 0, u});
  if (shape.ahead == 0) return;
  const std::int32_t known =
      slice < shape.window ? 0 : (slice - shape.window) / shape.slices - shape.ahead + 1;
  for (std::int32_t c = std::max(0, known); c <= slice / shape.slices - shape.ahead; ++c)
    add_column(shape, c, result);
}

}  // namespace

std::vector<TileTask> predecessors(const TileShape& shape, const TileTask& task) {
  std::vector<TileTask> result;
  const std::int32_t first = shape.group_of(task.column);
  switch (task.kind) {
    case Kind::kAssemble:
      add_before_slice(shape, task.source, result);
      break;
    case Kind::kFactor:
      add_state(shape, first, task.column, task.column, result);
      break;
    case Kind::kSolve:
      result.push_back({Kind::kFactor, task.column, first, 0});
      if (task.column > 0) add_state(shape, task.row, task.column, task.column, result);
      break;
    case Kind::kAccept:
      for (std::int32_t row = first; row < shape.groups(); ++row)
        result.push_back(solving(shape, row, task.column));
      break;
    case Kind::kUpdate: {
      add_state(shape, task.row, task.column, task.source, result);
      if (task.source == shape.panels) {
        result.push_back({Kind::kFinish, shape.panels, 0, 0});
        break;
      }
      const std::int32_t last = shape.sources_end(task.column, task.source) - 1;
      result.push_back(finalising(shape, task.row, last));
      if (const TileTask other = finalising(shape, first, last); other != result.back())
        result.push_back(other);
      break;
    }
    case Kind::kFinish:
      if (shape.panels > 0) add_panel(shape, shape.panels - 1, result);
      break;
    case Kind::kAdd:
    case Kind::kTake:
    case Kind::kPutBack:
      break;
  }
  return result;
}

int priority(const TileShape& shape, const TileTask& task) {
  const int left = 3 * (shape.blocks - task.column);
  switch (task.kind) {
    case Kind::kFactor:
    case Kind::kAccept:
    case Kind::kFinish:
    case Kind::kTake:
    case Kind::kPutBack:
      return left + 2;
    case Kind::kAssemble:
    case Kind::kSolve:
    case Kind::kAdd:
      return left + 1;
    case Kind::kUpdate:
      break;
  }
  return left;
}

double parallelism(const TileShape& shape,
                   const std::function<Flops(const TileTask&)>& cost) {
  TileGraph graph(shape);
  const auto later = [](const auto& a, const auto& b) { return a.first > b.first; };
  using Ending = std::pair<Flops, TileTask>;
  std::priority_queue<Ending, std::vector<Ending>, decltype(later)> running(later);
  std::vector<TileTask> ready;
  Flops work = 0, now = 0;
  const auto begin = [&] {
    for (const TileTask& task : ready) {
      const Flops flops = cost(task);
      work += flops;
      running.push({now + flops, task});
    }
    ready.clear();
  };
  graph.start(ready);
  begin();
  while (!running.empty()) {
    now = running.top().first;
    const TileTask task = running.top().second;
    running.pop();
    graph.end(task, ready);
    begin();
  }
  ESPALIER_ASSERT(graph.done(), "a task of a front was never ready");
  return now > 0 ? work / now : 1;
}

}  // namespace espalier::solver
