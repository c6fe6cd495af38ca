// The work on one front of all kinds, alone or shared: over 300 lines.

#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "solver/front/delay_reserve.h"
#include "solver/front/factor.h"
#include "solver/front/pivoting.h"
#include "solver/kernels/pivot_block.h"
#include "solver/matrix/sparse_matrix.h"
#include "solver/memory/spill_file.h"
#include "solver/memory/worker_scratch.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/front_storage.h"
#include "solver/tree/node_pieces.h"

namespace espalier::solver {

/// All that the tasks of one factorisation read, and what they fill.
template <class T>
struct FrontContext {
  const Symbolic& symbolic;
  const SquareMatrix& permuted;
  const AssemblyTree& tree;
  const PivotOptions& pivoting;
  Factor<T>& factor;
  std::span<PageBuffer> contributions;  ///< of each node: its last front's block
  PivotLog& log;
  DelayReserve& reserve;
  const WorkerScratch& scratch;
  SpillFile* file;     ///< for what AssemblyTree::Node sends there
  MemoryMeter* meter;  ///< counts every buffer; may be null
  PagePool* pool;      ///< of every buffer; may be null
  /// Panels of an earlier factor, by nodes, whose pages these take over; empty, or not
  /// the same: none.
  std::span<PageBuffer> former;
  std::atomic<Flops>* done = nullptr;  ///< work of what has ended, for progress
  /// Called in a catch block of a task: keeps the exception and ends the job.
  std::function<void()> stop{};
  /// Of shared fronts: what each child delayed, by front, as other processes say it;
  /// null: it is here, in the factor. No other fronts have an entry.
  std::map<std::int32_t, std::unique_ptr<FrontDelays<T>>>* told = nullptr;

  /// Null: none.
  [[nodiscard]] const FrontDelays<T>* delays_of_child(std::int32_t child) const {
    if (told != nullptr) {
      const auto place = told->find(child);
      if (place != told->end() && place->second != nullptr) return place->second.get();
    }
    return factor.delays_of(child);
  }
  [[nodiscard]] std::int32_t delayed_by(std::int32_t child) const {
    const FrontDelays<T>* const delays = delays_of_child(child);
    return delays != nullptr ? delays->delayed_out() : 0;
  }
  LowRankOptions low_rank{};  ///< for nodes that are AssemblyTree::Node::low_rank
  /// Where threads share a node: its pieces, whose last fronts' blocks stand in `blocks`,
  /// at NodePieces::block_at, in the place of `contributions`. Null: they do not.
  const NodePieces* pieces = nullptr;
  T* blocks = nullptr;

  /// Of a front that is the last of its node, or piece.
  [[nodiscard]] T* contribution_of(std::int32_t front) const {
    return pieces != nullptr ? blocks + pieces->block_at[pieces->of_front[front]]
                             : contributions[tree.node_of_front[front]].template as<T>();
  }

  /// The parent has a child's contribution block.
  void release_contribution(std::int32_t child) const {
    if (pieces != nullptr) return;
    contributions[tree.node_of_front[child]].release();
    if (LowRankPanel* const panel = factor.low_rank_of(child))
      panel->contribution.reset();
  }
};

/// Cholesky: columns before the first whose pivot is rounding, out of the first
/// `factored` ones of a block whose first column in the matrix is `column`.
/// @param a         the permuted matrix
/// @param least     PivotOptions::least_part
/// @param smallest  receives the least part that is left of a pivot, where it is less
template <class T>
[[nodiscard]] std::int32_t clear_pivots(const SymmetricMatrix& a, double least,
                                        std::int32_t column, const T* diagonal,
                                        std::int32_t leading, std::int32_t factored,
                                        double& smallest);

/// An entry of the matrix in a front: its position, and on either side of the diagonal
/// the value.
template <class T>
struct FrontEntry {
  std::int32_t row, column;
  std::array<T, 2> value;
};

/// What a process has of a front that processes share.
template <class T>
struct FrontShare {
  /// First row of each strip, and the order (FrontStorage::strips).
  std::vector<std::int32_t> strips;
  /// Of each block column, strip by strip: whether its tile is here.
  std::vector<std::int8_t> mine;
  /// Of each child, its strips: rows of its contribution block, of which some may be
  /// before it. Empty: one.
  std::vector<std::vector<std::int32_t>> child_strips;
  /// Of more strips than one: the matrix in the tiles that are here, by columns; null: in
  /// all of its columns that are.
  const std::vector<FrontEntry<T>>* original = nullptr;
};

/// The numerical work on one front, piece by piece, as tasks call it:
///
///   add_original, add_child, add_delayed   every block column: any order, in parallel
///   factor(k), then update(j, k) for j > k each block k of the panel in turn
///   finish_pivots(), then update(j, panels()) for the contribution block
///
/// factor() and finish_pivots() follow one another; updates of different targets run in
/// parallel, and so do those of different rows of one. Of factor(k) the rows from some
/// row on may be left to solve(), in parallel too, and accept(k), which then ends it.
/// Columns that find no pivot inside their block leave it as slots (FrontDelays) and
/// follow the elimination beside the panel; finish_pivots() tries them once more
/// together. What is left goes to the parent, or where it may not, is taken as it is.
///
/// Of a front that processes share every process keeps the slots' rows in its own block
/// columns by itself: of one that another factored it takes which columns were put off
/// and the slots' rows in it, and does with them what the other one did
/// (docs/decisions/0149).
template <class T>
class Front {
 public:
  /// @param panel         zeroed, of the planned size; not used when columns were delayed
  /// @param contribution  zeroed
  /// @param share         of one that processes share. Slots follow the elimination in
  ///                      block columns that are here, and in all rows below the panel
  ///                      where its last block is; of several strips in rows whose
  ///                      diagonal block, or tile of the last panel block, is here
  Front(const FrontContext<T>& context, std::int32_t front, T* panel, T* contribution,
        FrontShare<T> share = {});

  [[nodiscard]] std::int32_t panels() const { return storage_.panel_layout.blocks(); }
  [[nodiscard]] std::int32_t blocks() const {
    return panels() + storage_.contribution_layout.blocks();
  }
  [[nodiscard]] const FrontStorage<T>& storage() const { return storage_; }
  [[nodiscard]] std::int32_t front() const { return front_; }

  /// Position in this front of each row of a child's contribution block, increasing.
  void child_positions(std::int32_t child, std::span<std::int32_t> positions) const;

  /// Each adds what belongs into the front's columns [begin, end).
  void add_original(std::int32_t begin, std::int32_t end);
  /// @param contribution  null: that of the child's node, in memory or in the file
  /// @throws Error when the file cannot be read
  void add_child(std::int32_t child, const T* contribution,
                 std::span<const std::int32_t> positions, std::int32_t begin,
                 std::int32_t end);
  /// Columns [first, last) of one side of a child's block, which stands at `source`.
  void add_columns(std::int32_t child, std::int32_t side, const T* source,
                   std::span<const std::int32_t> positions, std::int32_t first,
                   std::int32_t last);
  /// The same columns of a tile of it, with the rows that belong into tiles here.
  void add_tile(std::int32_t child, const TilePlace& tile, std::int32_t side,
                const T* source, std::span<const std::int32_t> positions,
                std::int32_t first, std::int32_t last);
  void add_delayed(std::int32_t child, std::span<const std::int32_t> positions,
                   std::int32_t begin, std::int32_t end);
  /// Whether any child has delayed columns.
  [[nodiscard]] bool has_delayed() const { return delayed_in_ > 0; }

  /// Rows of the front.
  [[nodiscard]] std::int32_t order() const { return storage_.panel_layout.rows(); }
  /// Factors block column `block` of the panel.
  /// @return false: no positive pivot (Cholesky); the log has the column
  bool factor(std::int32_t block) { return factor(block, order()); }
  /// The same for its rows before row `end` of the front. The others are for solve(), in
  /// parts; then other kinds than Cholesky have accept().
  bool factor(std::int32_t block, std::int32_t end);
  /// Rows [begin, end) of a block column whose diagonal block is factored.
  void solve(std::int32_t block, std::int32_t begin, std::int32_t end);
  /// The pivots that all rows of the block column bear are in force; what comes after the
  /// first that one does not is put back and tried once more, over all rows.
  void accept(std::int32_t block);
  void finish_pivots();

  // Of a block column whose rows several processes have (front_spread.cpp), between
  // factor() and accept(). Whoever has the diagonal block sends a trial(), by which the
  // others solve() for their rows; the least that anybody has borne() is in force:
  // agree() at each of them. If then something is left to do over all rows,
  // tries_again(), the others send what is left of theirs, and take it back.
  /// The diagonal block, so many columns of it: `width` squared entries; the notes go
  /// along.
  void trial(std::int32_t block, T* diagonal) const;
  /// @param diagonal  where it was received, until accept(); notes and D are here
  void open_trial(std::int32_t block, T* diagonal);
  /// Columns that all rows here bear, at most those that were tried.
  [[nodiscard]] std::int32_t borne(std::int32_t block) const;
  [[nodiscard]] std::int32_t tried(std::int32_t block) const {
    return opened(block) ? opened(block)->counts.eliminated : 0;
  }
  [[nodiscard]] bool tries_again(std::int32_t block, std::int32_t agreed) const;
  /// Puts the columns after the first `agreed` back in the rows here.
  /// @param more  what is left is tried again, or taken as it is, over all rows
  void agree(std::int32_t block, std::int32_t agreed, bool more);
  /// Rows [begin, end) of a strip elsewhere, from column `agreed` on, side by side.
  void add_rest(std::int32_t block, std::int32_t begin, std::int32_t end,
                std::array<T*, 2> sides);

  /// Whether a tile is here.
  [[nodiscard]] bool has(std::int32_t strip, std::int32_t block) const {
    return share_.mine.empty() || share_.mine[block * strips() + strip] != 0;
  }
  [[nodiscard]] std::int32_t strips() const {
    return storage_.strips.empty()
               ? 1
               : static_cast<std::int32_t>(storage_.strips.size()) - 1;
  }
  /// FrontShare::child_strips
  [[nodiscard]] std::span<const std::int32_t> child_strips(std::size_t child) const {
    if (share_.child_strips.empty()) return {};
    return share_.child_strips[child];
  }
  /// Of a block column, what a strip has of it, at or under the diagonal.
  [[nodiscard]] BlockTile<T> tile(std::int32_t strip, std::int32_t block) const;
  /// First row of a block, and the strip that has it. Behind the last: the order.
  [[nodiscard]] std::int32_t first_row(std::int32_t block) const;
  [[nodiscard]] std::int32_t strip_of(std::int32_t block) const;
  // Of a shared front whose columns may be put off: what its processes send each other.
  using Parts = std::vector<std::span<std::byte>>;
  [[nodiscard]] std::int32_t slots() const {
    return delays() != nullptr ? delays()->slots() : 0;
  }
  /// Of a block column of the panel, what was eliminated and in which order.
  [[nodiscard]] Parts notes(std::int32_t block);
  /// Columns that a block column put off, by its notes.
  [[nodiscard]] std::int32_t put_off(std::int32_t block) const {
    return block_column(storage_, block).width - notes_[block][0];
  }
  /// Slots of blocks before it, and their rows in it; of several strips also what it puts
  /// off among itself.
  [[nodiscard]] std::int32_t slots_before(std::int32_t block) const {
    return slot_rows_[block].count;
  }
  [[nodiscard]] Parts slot_rows(std::int32_t block);
  /// Memory for slot_rows() of a block column of another process: of all slots up to now.
  void open_slot_rows(std::int32_t block);
  /// A block column of another process, its notes and slot_rows() are here: in turn.
  void take_panel(std::int32_t block);
  /// LDL^T: D of a block column.
  [[nodiscard]] std::span<T> d_of(const BlockColumn<T>& column) const {
    return {d_ + 2 * std::int64_t{column.first},
            2 * static_cast<std::size_t>(column.width)};
  }
  /// Of several strips: rows [begin, end) of the slots under the panel, which are
  /// followed here, side by side; and where the last block is, before finish_pivots().
  void copy_tail_rows(std::int32_t begin, std::int32_t end, T* to) const;
  void put_tail_rows(std::int32_t begin, std::int32_t end, const T* from);
  /// What finish_pivots() left at the owner of the last block, and memory for it
  /// elsewhere.
  [[nodiscard]] Parts tail();
  void open_tail();
  /// All has been sent. @param has_tail  what is left of the slots is here
  void close_exchange(bool has_tail);

  /// Updates block column `target` by the factored block column `source` < target, or
  /// by the tail for source == panels().
  void update(std::int32_t target, std::int32_t source) {
    update(target, source, block_column(storage_, target).first, order());
  }
  /// The same for its rows [begin, end) only, which hold all of the diagonal block or
  /// nothing of it.
  void update(std::int32_t target, std::int32_t source, std::int32_t begin,
              std::int32_t end);

  /// Whether solve() compresses its rows, which are those of one block. Then
  /// update_by_tiles() takes the place of update(), and put_together() that of accept().
  [[nodiscard]] bool is_low_rank() const {
    return !kIsComplex<T> && low_rank() != nullptr;
  }
  /// Updates the tile of block `row` in block column `target` by the panel blocks
  /// [source, sources_end). After the last of these a tile of the contribution block is
  /// compressed, if the tree says so.
  /// @return whether all of such a block column are final: put_together() has to follow
  bool update_by_tiles(std::int32_t target, std::int32_t row, std::int32_t source,
                       std::int32_t sources_end);
  /// Moves the final tiles of a block column to memory of their own. Safe from any
  /// thread, each block column once. @return where it stood: nothing is read from there
  /// any more
  /// @throws Error when the system has no memory
  [[nodiscard]] std::span<const std::byte> put_together(std::int32_t block);

 private:
  /// The slots of a front as rows of the block that is being factored.
  struct Slots {
    std::int32_t count = 0;
    std::array<std::vector<T>, 2> rows;  // count x width: of L; LU: of U transposed
    std::vector<T> corner;  // of several strips: what the block puts off, in itself

    [[nodiscard]] const std::vector<T>& right() const {
      return rows[1].empty() ? rows[0] : rows[1];
    }
  };
  [[nodiscard]] FactorKind kind() const { return context_.tree.kind; }
  [[nodiscard]] FrontDelays<T>* delays() const {
    return context_.factor.delays_of(front_);
  }
  [[nodiscard]] LowRankPanel* low_rank() const {
    return context_.factor.low_rank_of(front_);
  }
  void open_low_rank();
  void compress(std::int32_t block, std::int32_t begin);
  void compress_contribution(std::int32_t row, std::int32_t block);
  void compress_tile(LowRankPanel& tiles, std::int32_t row, std::int32_t block, T* data,
                     std::int32_t leading, double tolerance);
  void add_tiles(const LowRankPanel& child, std::span<const std::int32_t> positions,
                 std::int32_t first, std::int32_t last);
  [[nodiscard]] std::int32_t pivots() const { return storage_.panel_layout.columns(); }
  [[nodiscard]] std::int32_t contribution_rows() const {
    return storage_.contribution_layout.rows();
  }
  void add_from_file(Bytes at, const Trapezoid& layout, std::int32_t side,
                     std::span<const std::int32_t> positions, std::int32_t begin,
                     std::int32_t end);
  void open_delays(const T* planned);
  void open_exchange();
  [[nodiscard]] bool follows(std::int32_t panel) const {
    return has(strip_of(panel), panel);
  }
  [[nodiscard]] bool follows_tail() const { return follows(panels() - 1); }
  [[nodiscard]] std::vector<IndexRange> row_groups(std::int32_t begin,
                                                   std::int32_t end) const;
  [[nodiscard]] std::vector<IndexRange> followed_after(std::int32_t block) const;
  [[nodiscard]] std::vector<T> corner_of(const BlockColumn<T>& column,
                                         std::int32_t eliminated) const;
  void gather_tail();
  void add_entry(std::int32_t i, std::int32_t j, T value, std::int32_t begin,
                 std::int32_t end);
  /// A block column whose pivots not all rows have been asked about.
  struct OpenPanel {
    Slots slots;
    kernels::PivotCounts counts;  ///< of the diagonal block
    std::int32_t end = 0;         ///< of the rows that factor() took with it
    T* trial = nullptr;           ///< the diagonal block, where it is not in its tile
    std::int32_t agreed = -1;     ///< columns in force; -1: nobody has agreed
    bool more = true;             ///< what is left is looked at
    struct Rows {
      std::int32_t begin, end, kept;
    };
    struct Rest {
      std::int32_t begin, end;
      std::array<T*, 2> sides;  ///< where column 0 would be
    };
    std::vector<Rest> rest;
    std::mutex mutex;  ///< guards `rows`
    std::vector<Rows> rows;
  };
  [[nodiscard]] const std::unique_ptr<OpenPanel>& opened(std::int32_t block) const {
    return open_[follows(block) ? 0 : 1];
  }
  /// A block column, or some of its rows, and the slots, as kernels take them.
  struct PivotRows {
    std::vector<kernels::RowSegment<T>> lower, upper;
  };
  void add_rows(std::int32_t block, std::int32_t begin, std::int32_t end,
                PivotRows& rows) const;
  void add_all_rows(std::int32_t block, PivotRows& rows) const;
  [[nodiscard]] BlockColumn<T> tried_column(std::int32_t block) const;
  void add_slots(Slots& slots, PivotRows& rows) const;
  [[nodiscard]] kernels::PivotBlock<T> pivot_block(const BlockColumn<T>& column,
                                                   const PivotRows& rows) const;
  void factor_with_pivoting(std::int32_t block, const BlockColumn<T>& column,
                            std::int32_t end);
  void close_panel(std::int32_t block, const BlockColumn<T>& column,
                   std::int32_t eliminated, const Slots& slots);
  void take_orders(std::int32_t block);
  void note(std::int32_t block, const BlockColumn<T>& column, std::int32_t eliminated);
  [[nodiscard]] std::int32_t try_again(std::int32_t block, const BlockColumn<T>& column,
                                       OpenPanel& open);
  [[nodiscard]] Slots slots_beside(const BlockColumn<T>& column) const;
  /// How columns are tried that are left: by the threshold as before, or all of them,
  /// though others may follow or because there is nowhere else for them to go.
  enum class Rest : std::int8_t { kThreshold, kAll, kLastResort };
  template <class MayLeave>
  std::int32_t take_pivots(const kernels::PivotBlock<T>& block, Rest rest,
                           MayLeave may_leave);
  std::int32_t continue_pivots(const kernels::PivotBlock<T>& block,
                               std::int32_t eliminated, Rest rule);
  std::int32_t take_rest(const kernels::PivotBlock<T>& rest, Rest rule);
  [[nodiscard]] std::span<T> pivot_scratch(std::int32_t width,
                                           std::vector<T>& large) const;
  [[nodiscard]] bool may_put_off(std::int32_t slots, std::int32_t count) const;
  [[nodiscard]] bool pay_for_slots(std::int32_t slots, std::int32_t count) const;
  void take_all(const kernels::PivotBlock<T>& block, bool last_resort,
                std::span<T> scratch);
  void log_counts(const kernels::PivotCounts& counts, bool last_resort);
  void pass_on(std::int32_t block, const BlockColumn<T>& column, std::int32_t eliminated,
               const Slots& slots);
  void leave_slots(std::int32_t block, const BlockColumn<T>& column,
                   std::int32_t eliminated, const Slots& before);
  void grow_corner(const BlockColumn<T>& column, std::int32_t eliminated,
                   const Slots& before);
  void add_originals(std::int32_t begin, std::int32_t end);
  /// The block column that has a column of the front.
  [[nodiscard]] std::int32_t block_of(std::int32_t column) const {
    return column < pivots()
               ? storage_.panel_layout.block_of(column)
               : panels() + storage_.contribution_layout.block_of(column - pivots());
  }

  const FrontContext<T>& context_;
  std::int32_t front_;
  std::int32_t delayed_in_ = 0;
  FrontStorage<T> storage_;
  std::int32_t* row_order_ = nullptr;
  std::int32_t* column_order_ = nullptr;
  T* d_ = nullptr;
  std::vector<std::int32_t> eliminated_;  // columns of each block; Cholesky: all of them
  std::vector<T> corner_;  // slots x slots: what is left of them among themselves
  // With the diagonal block here, and elsewhere: one of each at most.
  std::array<std::unique_ptr<OpenPanel>, 2> open_;
  FrontShare<T> share_;
  std::vector<std::vector<std::int32_t>> notes_;  // shared, of each block of the panel
  std::vector<Slots> slot_rows_;                  // likewise
  // Rows of each block column of a compressed contribution block that are final.
  std::vector<std::atomic<std::int32_t>> final_rows_;
};

}  // namespace espalier::solver
