#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "solver/front/factor.h"
#include "solver/kernels/front_solve.h"
#include "solver/solve/ancestor_rows.h"
#include "solver/solve/tile_runner.h"
#include "solver/solve/vectors.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// What the solves read: a factor, and the structure that it was made for.
template <class T>
struct FactorView {
  const Symbolic& symbolic;
  const AssemblyTree& tree;
  const Factor<T>& factor;
};

/// The panels of a node while they are needed: where they stand, or read from the file.
template <class T>
class NodeStorage {
 public:
  /// @throws Error when the file cannot be read
  NodeStorage(const FactorView<T>& view, std::int32_t node);
  [[nodiscard]] const T* data() const { return data_; }
  /// What is read for a node; 0 for one in memory.
  [[nodiscard]] static Bytes bytes_to_read(const FactorView<T>& view, std::int32_t node);

 private:
  PageBuffer copy_;
  const T* data_;
};

/// Whether forward() and backward() are each the solve with one factor of the matrix, L
/// or U, or their transposed ones, with D left out (kApart); or only both together are
/// what is wanted, which saves a pass over the pivots (kTogether).
enum class Halves : bool { kTogether, kApart };

/// The rows below diagonal blocks of one front, which are at several processes.
template <class T>
class RowsBelow {
 public:
  virtual ~RowsBelow() = default;
  /// y := y - A x in the rows below a block. @param x  of the block's columns
  virtual void apply(std::int32_t block, const Vectors<T>& x) = 0;
  /// x := x - A^H y. @param x  of the block's columns
  virtual void apply_transposed(std::int32_t block, const Vectors<T>& x) = 0;
  /// The tail has all rows under the panel: brings them here, and back to where they
  /// were.
  virtual void gather_below() = 0;
  virtual void scatter_below() = 0;
};

/// Solves with single fronts, in the order of elimination: A x = b, or A^T x = b where
/// `transposed`; kept variables are 0, and their rows of b are not read. Work space is
/// the caller's: local_entries() for each vector.
///
/// Products with large panels are cut into tiles (cut_products.h), and rows where the
/// front's are (tile_shape()): the same ones whoever solves and however many threads run
/// them. So is the solution, to the last bit.
template <class T>
class FrontSolve {
 public:
  /// @param tiles  runs the tiles of large fronts, outlives this; null: the caller does
  FrontSolve(const FactorView<T>& view, bool transposed,
             Halves halves = Halves::kTogether, TileRunner* tiles = nullptr)
      : view_(view),
        transposed_(transposed),
        apart_(halves == Halves::kApart),
        tiles_(tiles) {}

  /// Forward elimination of a front: `b` holds the right-hand sides and receives what
  /// the factor leaves of them. Children go first.
  /// @param storage  of the front's node: NodeStorage
  void forward(std::int32_t front, const T* storage, const Vectors<T>& b,
               const AncestorRows<T>& ancestors, T* local) const;

  /// Backward substitution of a front: reads what forward() left in `z` and the parents'
  /// part of `x`, writes the front's part of x. Parents go first. Where the factor is
  /// symmetric x may be z.
  void backward(std::int32_t front, const T* storage, const Vectors<T>& z,
                const Vectors<T>& x, T* local) const;

  /// Work space for the slots of a front: so many entries, for each vector, both.
  struct SlotVectors {
    T *slots, *tail;
  };
  /// The steps of forward() at the panel blocks [begin, end) of a front, which alone are
  /// read; after the last block those of the tail.
  /// @param x      vectors of the front's rows, one right after the other; those before
  ///               block `begin` are left alone, the first blocks' become the result, and
  ///               behind the last block the slots', wherever they stand
  /// @param slots  what the blocks before left of them, and these
  /// @param block  work space: a block's width for each vector
  /// @param spread  has the rows below the blocks; null: they are in the storage
  void forward_blocks(std::int32_t front, const T* storage, std::int32_t begin,
                      std::int32_t end, const Vectors<T>& x, const SlotVectors& slots,
                      T* block, RowsBelow<T>* spread = nullptr) const;

  /// Those of backward(), from the last of the blocks to the first.
  /// @param z      whole vectors, as left by forward()
  /// @param whole  x, whole vectors: what parents know is read
  /// @param x      as above, known from block `end` on; in these blocks what forward()
  ///               left of them
  void backward_blocks(std::int32_t front, const T* storage, std::int32_t begin,
                       std::int32_t end, const Vectors<T>& z, const Vectors<T>& whole,
                       const Vectors<T>& x, const SlotVectors& slots, T* block,
                       RowsBelow<T>* spread = nullptr) const;

  /// Rows below a block, group by group of those that are at one process.
  [[nodiscard]] std::vector<IndexRange> groups_below(std::int32_t front,
                                                     std::int32_t block) const;
  /// What RowsBelow do, for one group that is in the storage.
  /// @param y  vectors of the front's rows
  void apply_group(std::int32_t front, const T* storage, std::int32_t block,
                   IndexRange rows, const Vectors<T>& x, const Vectors<T>& y) const;
  /// @param part  receives what is to be added to x
  void apply_group_transposed(std::int32_t front, const T* storage, std::int32_t block,
                              IndexRange rows, const Vectors<T>& y,
                              const Vectors<T>& part) const;

  /// Whether forward() and backward() take a front by loops, not block by block: a small
  /// one of few pivots.
  [[nodiscard]] bool is_narrow(std::int32_t front, std::int32_t count) const;

  /// Slots of the blocks before `block`.
  [[nodiscard]] std::int32_t slots_before(std::int32_t front, std::int32_t block) const;

  /// Entries of work space for one vector, the most over all fronts.
  [[nodiscard]] std::int64_t local_entries() const;
  /// Of a front's panel, about: what forward() and backward() each go over.
  [[nodiscard]] std::int64_t panel_entries(std::int32_t front) const {
    const std::vector<std::int32_t>& first = view_.symbolic.first_column;
    return std::int64_t{first[front + 1] - first[front]} *
           view_.symbolic.front_order(front);
  }
  /// Over the fronts of a node.
  [[nodiscard]] std::int64_t local_entries(const AssemblyTree::Node& node) const;
  /// Of one front: its order, the width of its blocks, and its slots.
  [[nodiscard]] static std::int64_t local_entries(std::int64_t order, std::int32_t width,
                                                  std::int32_t slots) {
    return 2 * order + width + 2 * slots;
  }

 private:
  struct Local;
  [[nodiscard]] Local lay_out(std::int32_t front) const;
  [[nodiscard]] Local open(std::int32_t front, const T* storage,
                           std::int32_t count) const;
  [[nodiscard]] Local open(std::int32_t front, const T* storage, std::int32_t count,
                           T* memory) const;
  [[nodiscard]] Local open_blocks(std::int32_t front, const T* storage,
                                  const Vectors<T>& x, const SlotVectors& slots, T* block,
                                  std::int32_t seen, RowsBelow<T>* spread) const;
  // A front of one entry: a column that nothing meets.
  [[nodiscard]] bool is_alone(std::int32_t front) const {
    return view_.symbolic.front_order(front) == 1 &&
           view_.factor.delays_of(front) == nullptr;
  }
  // Whether forward() divides by its pivot, and backward() does.
  [[nodiscard]] bool divides_forward() const {
    const FactorKind kind = view_.tree.kind;
    return kind == FactorKind::kCholesky ||
           (kind == FactorKind::kLu && transposed_ && apart_);
  }
  [[nodiscard]] bool divides_backward() const {
    const FactorKind kind = view_.tree.kind;
    return kind == FactorKind::kCholesky || !apart_ ||
           (kind == FactorKind::kLu && !transposed_);
  }
  // L D L^T, where D is not left out.
  [[nodiscard]] bool divides_by_d() const {
    return view_.tree.kind == FactorKind::kLdlt && !apart_;
  }
  // Its entry of `to` becomes that of `from` over the pivot.
  void divide_alone(std::int32_t front, const T* storage, const Vectors<T>& from,
                    const Vectors<T>& to) const;
  void backward_alone(std::int32_t front, const T* storage, const Vectors<T>& z,
                      const Vectors<T>& x) const;
  // A front of few pivots, but not of one, of Cholesky: in the places of the vectors
  // themselves. As all that follows not one in tiles, whose rows may be at several
  // processes.
  [[nodiscard]] bool has_few_pivots(std::int32_t front, std::int32_t count) const {
    const std::int32_t pivots = view_.symbolic.pivots(front);
    return view_.tree.kind == FactorKind::kCholesky && !view_.tree.is_tiled[front] &&
           pivots > 1 && pivots <= kernels::kFewPivots && count <= kFewVectors &&
           pivots <= view_.tree.block_width[front] &&
           view_.factor.low_rank_of(front) == nullptr;
  }
  [[nodiscard]] kernels::FewPivots<T> few_pivots(std::int32_t front,
                                                 const T* storage) const {
    return {view_.symbolic.pivots(front), view_.symbolic.front_order(front),
            view_.factor.panel_data(front, storage),
            view_.symbolic.rows_of(front).data()};
  }
  void forward_few(std::int32_t front, const T* storage, const Vectors<T>& b,
                   const AncestorRows<T>& ancestors) const;
  void backward_few(std::int32_t front, const T* storage, const Vectors<T>& z,
                    const Vectors<T>& x) const;
  // A front of one pivot, without delays.
  [[nodiscard]] bool is_single(std::int32_t front) const {
    return view_.symbolic.pivots(front) == 1 && !view_.tree.is_tiled[front] &&
           view_.factor.delays_of(front) == nullptr;
  }
  void forward_single(std::int32_t front, const T* storage, const Vectors<T>& b,
                      const AncestorRows<T>& ancestors) const;
  void backward_single(std::int32_t front, const T* storage, const Vectors<T>& z,
                       const Vectors<T>& x) const;
  // A front of few pivots, without delays: its part of the vectors stays where it is.
  static constexpr std::int32_t kNarrow = 32;  // as many as are solved for by loops,
  static constexpr std::int32_t kNarrowOfTwo = kernels::kFewPivots;  // of two vectors,
  static constexpr std::int32_t kFewVectors = 2;  // for more of them BLAS does better
  struct Narrow {
    std::int32_t column, pivots, below, leading;  // first column; rows below the pivots
    const T* diagonal;
    std::array<const T*, 2> panel;  // those rows, of what is solved first, and second
    const std::int32_t *first_order, *second_order;  // as Local's
    const T* d;                                      // L D L^T
  };
  [[nodiscard]] bool has_narrow_panel(std::int32_t front, std::int32_t count) const;
  [[nodiscard]] std::optional<Narrow> narrow(std::int32_t front, std::int32_t count,
                                             const T* storage) const;
  // @param left, above  work space: an entry for each row below the pivots, and vector
  void forward_narrow(const Narrow& front, std::span<const std::int32_t> rows,
                      const Vectors<T>& b, const AncestorRows<T>& ancestors,
                      T* left) const;
  void backward_narrow(const Narrow& front, const std::int32_t* rows, const Vectors<T>& z,
                       const Vectors<T>& x, T* above) const;
  void gather_slots(std::int32_t front, const Vectors<T>& z, const Vectors<T>& x,
                    Local& local) const;
  // @param x  of the block's own rows
  void apply_tiles(const Local& local, std::int32_t block, const Vectors<T>& x) const;
  static void apply_tiles_transposed(const Local& local, std::int32_t block,
                                     const Vectors<T>& x);
  void apply_rows(const Local& local, std::int32_t block, const Vectors<T>& x) const;
  void apply_rows_transposed(const Local& local, std::int32_t block,
                             const Vectors<T>& x) const;
  void forward_block(Local& local, std::int32_t block) const;
  void forward_tail(Local& local) const;
  void backward_block(Local& local, std::int32_t block) const;
  void backward_tail(Local& local) const;
  void solve_forward(std::int32_t e, const T* diagonal, std::int32_t width,
                     std::int32_t leading, const Vectors<T>& x) const;
  void solve_backward(std::int32_t e, const T* diagonal, std::int32_t width,
                      std::int32_t leading, const Vectors<T>& x) const;

  FactorView<T> view_;
  bool transposed_, apart_;
  TileRunner* tiles_;
};

/// x := A^-1 b, or A^-T b, in elimination order, by one thread: to the same bits as
/// TreeSolve. b is overwritten.
///
/// @param ask  called between fronts, see PacedAsk; what it throws is thrown
/// @par Cost  4 flops for each entry of the factor and vector
template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, const std::function<void()>& ask = {});
/// @param work  SequentialSweep::entries() of work space
template <class T>
void solve_sequentially(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                        const Vectors<T>& x, std::span<T> work,
                        const std::function<void()>& ask = {});

}  // namespace espalier::solver
