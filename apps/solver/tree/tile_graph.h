#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::solver {

/// A piece of the work on a large front. Rows are counted in groups of block rows.
struct TileTask {
  enum class Kind : std::int8_t {
    kAssemble,  ///< slice `source` of the slices of all block columns; column: its block
    kFactor,    ///< the diagonal block of `column` and the other rows of its group
    kSolve,     ///< the rows of group `row` in factored block column `column`
    kAccept,    ///< the pivots of `column` that all of its rows bear, the rest put back;
                ///< of compressed tiles: one after the other, and their memory goes
    kUpdate,  ///< the same rows, updated by block column `source`, or a batch from it on
    kFinish,  ///< the columns that were put off, once more together
    // Of a front that processes share, beside the graph (FrontExchange):
    kAdd,     ///< pieces of children's contribution blocks into `column`
    kTake,    ///< panel `column` of another process: the columns that it put off
    kPutBack  ///< the rows here of tested panel `column`, but for `source` columns
  };
  Kind kind = Kind::kAssemble;
  std::int32_t column = 0, row = 0, source = 0;
  friend bool operator==(const TileTask&, const TileTask&) = default;
};

/// How a front is cut. Nothing here depends on the number of workers.
struct TileShape {
  std::int32_t panels = 0, blocks = 0;  ///< block columns: of pivots, of all
  std::int32_t group = 1;               ///< block rows of a tile
  /// Block columns that the panel has beside the planned ones: then groups begin anew
  /// with the contribution block, whose groups stay as they are planned.
  std::int32_t extra = 0;
  std::int32_t slices = 1;  ///< in which a block column is assembled
  std::int32_t window = 1;  ///< slices that are assembled at once
  /// Slices begin when all block columns but so many before theirs are done: final, and
  /// those of the contribution block updated by all panels. 0: nothing waits for that.
  std::int32_t ahead = 0;
  /// Sources of an update: those from a multiple of `batch` on. More than one only where
  /// group is 1 and nothing has a tail.
  std::int32_t batch = 1;
  /// Pivots are tested by all rows of their block column, which are final when the last
  /// of them has been solved for: kAccept, unless one group has all rows. So are
  /// block columns whose tiles are compressed.
  bool tested = false;
  /// Columns may be put off: kFinish after all panels, and then an update by it, as
  /// source == panels, of every tile of the contribution block.
  bool has_tail = false;

  [[nodiscard]] std::int32_t groups() const {
    return blocks > 0 ? group_of(blocks - 1) + 1 : 0;
  }
  [[nodiscard]] std::int32_t group_of(std::int32_t block) const {
    if (extra == 0 || block < panels) return block / group;
    return panel_groups() + (block - extra) / group - (panels - extra) / group;
  }
  /// First block row of a group; behind the last group: all of them.
  [[nodiscard]] std::int32_t first_block(std::int32_t row) const {
    if (extra == 0 || row < panel_groups()) return std::min(row * group, blocks);
    const std::int32_t planned = row - panel_groups() + (panels - extra) / group;
    return std::clamp(planned * group + extra, panels, blocks);
  }
  [[nodiscard]] bool accepts(std::int32_t panel) const {
    return tested && group_of(panel) + 1 < groups();
  }
  /// An update's last source and one, for the first of them and the updated column.
  [[nodiscard]] std::int32_t sources_end(std::int32_t column, std::int32_t source) const {
    return batch == 1 ? source + 1 : std::min({source + batch, column, panels});
  }
  /// At most so many tasks of the graph are ready at once: of a block column its slices,
  /// then one of each tile at and under the diagonal.
  [[nodiscard]] std::int64_t most_ready() const;

 private:
  [[nodiscard]] std::int32_t panel_groups() const { return (panels + group - 1) / group; }
};

/// The tasks of a front, and when each may run:
///
///   kAssemble u   the slices up to u - window are assembled, and the block columns up to
///                 `ahead` before that of u are done
///   kFactor k     the diagonal tile of k is assembled and updated by all columns before
///   kSolve G, k   k is factored; tile (G, k) is updated by all block columns before k
///   kAccept k     all tiles of k are solved for
///   kUpdate G, j, k   column j is assembled, tile (G, j) updated by those before k, and
///                 both (G, k) and the rows of block j in k are final: solved for, and
///                 k accepted where it is tested
///   kFinish       all panels are final
///
/// Updates of a tile come in the order of their sources, so that every entry is the
/// result of the same operations in the same order however many workers there are.
///
/// Of a front that processes share the graph has the tasks of the tiles that are `mine`,
/// but not their assembly. It is told when those of a block column are assembled(), when
/// a final tile of another process has arrived(), and what is left of the panels, where
/// the last of them is not mine.
///
/// Of a tested panel whose tiles several processes have, each of them has kSolve for its
/// own, after trial_known() where the diagonal block is elsewhere, and a kAccept, after
/// may_accept(). Where the diagonal block is, its tiles are final then; elsewhere they
/// arrive() as others do. Where such a panel is the last one, kFinish is ready after
/// may_finish().
///
/// @par Cost  O(blocks) a task (kAccept: O(tiles)); memory O(tiles + blocks slices)
/// @par Test  TileGraph.*: every task once, after its predecessors and not later
class TileGraph {
 public:
  /// Of each block column, of each group of rows: its tile is here. Empty: all are.
  using Mine = std::vector<std::int8_t>;
  explicit TileGraph(const TileShape& shape, Mine mine = {});

  [[nodiscard]] const TileShape& shape() const { return shape_; }
  /// What is ready at the start.
  void start(std::vector<TileTask>& ready);
  /// A task that was ready has ended: adds what it makes ready.
  void end(const TileTask& task, std::vector<TileTask>& ready);
  /// Each once, of a shared front.
  void assembled(std::int32_t column, std::vector<TileTask>& ready);
  void arrived(std::int32_t row, std::int32_t panel, std::vector<TileTask>& ready);
  void finished(std::vector<TileTask>& ready);
  void trial_known(std::int32_t panel, std::vector<TileTask>& ready) {
    diagonal_known(panel, ready);
  }
  void may_accept(std::int32_t panel, std::vector<TileTask>& ready) {
    one_less_unsolved(panel, ready);
  }
  void may_finish(std::vector<TileTask>& ready);
  /// Whether a tested panel is mine in part.
  [[nodiscard]] bool spread(std::int32_t panel) const;
  /// Whether all that is mine of a block column of the panel is final.
  [[nodiscard]] bool column_done(std::int32_t panel) const {
    return unsolved_[static_cast<std::size_t>(panel)] == 0 &&
           tiles_[place(shape_.group_of(panel), panel)].final;
  }
  [[nodiscard]] std::int64_t tasks() const { return total_; }
  [[nodiscard]] bool done() const { return ended_ == total_; }

 private:
  struct Tile {
    std::int32_t updates = 0;  // that have ended
    bool busy = false;         // a task of it is ready or runs
    bool final = false;        // of the panel
  };
  [[nodiscard]] std::size_t place(std::int32_t row, std::int32_t column) const {
    return static_cast<std::size_t>(column) * groups_ + row;
  }
  [[nodiscard]] Tile& tile(std::int32_t row, std::int32_t column) {
    return tiles_[place(row, column)];
  }
  [[nodiscard]] bool mine(std::int32_t row, std::int32_t column) const {
    return mine_.empty() || mine_[place(row, column)] != 0;
  }
  [[nodiscard]] bool has_diagonal(std::int32_t column) const {
    return mine(shape_.group_of(column), column);
  }
  [[nodiscard]] std::int32_t tiles_of(std::int32_t column) const;
  [[nodiscard]] std::int64_t count_tasks() const;
  void begin_slices(std::vector<TileTask>& ready);
  void end_slice(const TileTask& task, std::vector<TileTask>& ready);
  void look(std::int32_t row, std::int32_t column, std::vector<TileTask>& ready);
  void look_panel(std::int32_t row, std::int32_t column, std::vector<TileTask>& ready);
  void solved(const TileTask& task, std::vector<TileTask>& ready);
  void one_less_unsolved(std::int32_t column, std::vector<TileTask>& ready);
  void make_final(std::int32_t row, std::int32_t column, std::vector<TileTask>& ready);
  void diagonal_known(std::int32_t column, std::vector<TileTask>& ready);
  void accepted(std::int32_t column, std::vector<TileTask>& ready);
  void panel_final(std::int32_t column, std::vector<TileTask>& ready);
  void column_ended(std::int32_t column, std::vector<TileTask>& ready);

  TileShape shape_;
  Mine mine_;
  std::int32_t groups_;
  std::vector<Tile> tiles_;
  std::vector<std::int32_t> slices_left_;  // of each block column
  // Groups of each panel, that are mine, and one for may_accept().
  std::vector<std::int32_t> unsolved_;
  std::vector<std::int8_t> slice_done_, factored_;
  std::vector<std::int32_t> open_tiles_;  // of each block column: that will change
  std::int32_t slices_begun_ = 0, slices_done_ = 0;  // the latter: in a row
  std::int32_t columns_done_ = 0;                    // likewise
  bool finished_ = false;                            // the tail
  std::int64_t total_ = 0, ended_ = 0;
};

/// Tasks that have to end before `task` is ready, and that make it ready when the last of
/// them ends. For a record of a run.
[[nodiscard]] std::vector<TileTask> predecessors(const TileShape& shape,
                                                 const TileTask& task);

/// Priority of a task among those of its front: what the next panels wait for goes first.
[[nodiscard]] int priority(const TileShape& shape, const TileTask& task);

/// Work over the length of the longest path: workers that a front can keep busy.
/// @par Cost  O(tasks log tasks)
[[nodiscard]] double parallelism(const TileShape& shape,
                                 const std::function<Flops(const TileTask&)>& cost);

}  // namespace espalier::solver
