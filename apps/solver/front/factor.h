#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "solver/front/low_rank_panel.h"
#include "solver/memory/page_buffer.h"
#include "solver/memory/spill_file.h"
#include "solver/memory/zeroed_vector.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/assembly_tree.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// What a front has beside its planned panel once a column found no pivot, in it or in
/// one of its children. Rare: for all other fronts it does not exist.
///
/// Positions count through the front: its own pivots, the delayed_in columns that its
/// children could not eliminate, the rows of the contribution block. A *slot* is a column
/// (and row) of this front that found no pivot in its block. Slots are tried once more
/// together, after all blocks: the tail. What is left then goes to the parent.
///
/// Of a front that processes share each has the slots of the blocks before its last one;
/// those who have blocks of the contribution block, and the owner of the panel's last
/// block, have the tail too.
template <class T>
struct FrontDelays {
  std::int32_t delayed_in = 0;
  std::vector<std::int32_t> from_child;           ///< of each child in turn: how many
  std::vector<std::int32_t> rows_in, columns_in;  ///< rows and columns of the matrix
  PageBuffer panel;  ///< both sides, when delayed_in > 0; of a shared front what is here
  std::vector<std::int32_t> row_order, column_order;  ///< likewise, as Factor's
  std::vector<T> d;

  std::vector<std::int32_t> eliminated;             ///< of each block
  std::vector<std::int32_t> slot_row, slot_column;  ///< positions, in order of failure
  /// pivots x slots of each side: in rows of later blocks what they do to the slots.
  std::array<std::vector<T>, 2> passed;
  /// (slots + contribution rows) x slots of each side, factored; column-major.
  std::array<std::vector<T>, 2> tail;
  std::int32_t tail_eliminated = 0;
  std::vector<std::int32_t> tail_row_order, tail_column_order;
  std::vector<T> tail_d;

  /// Row and column of the matrix that stand at place k of the tail.
  [[nodiscard]] std::int32_t row_id(const Symbolic& symbolic, std::int32_t front,
                                    std::int32_t k) const {
    return id(symbolic, front, rows_in, slot_row[tail_row_order[k]]);
  }
  [[nodiscard]] std::int32_t column_id(const Symbolic& symbolic, std::int32_t front,
                                       std::int32_t k) const {
    return id(symbolic, front, columns_in, slot_column[tail_column_order[k]]);
  }
  /// What stands at a position among the pivots of the front.
  [[nodiscard]] static std::int32_t id(const Symbolic& symbolic, std::int32_t front,
                                       const std::vector<std::int32_t>& in,
                                       std::int32_t position) {
    const std::int32_t own = symbolic.pivots(front);
    return position < own ? symbolic.first_column[front] + position : in[position - own];
  }

  [[nodiscard]] std::int32_t slots() const {
    return static_cast<std::int32_t>(slot_row.size());
  }
  /// Columns that the parent has to take.
  [[nodiscard]] std::int32_t delayed_out() const { return slots() - tail_eliminated; }
};

/// The factor, by fronts. Filled by the factorisation, read by the solve. What is kept of
/// each front is little: there may be one for every third unknown, and on several
/// processes each has a place for all of them.
///
/// The panel of a front, side 0 (L) before side 1 (LU: U transposed), stands in the
/// storage of its node, or with the delays when there are delayed columns.
///
/// Pivots are permuted inside blocks only: place k of a block of panel columns was taken
/// by the block's row row_order[k] and column column_order[k]; rows of earlier blocks are
/// left where they were.
template <class T>
struct Factor {
  Factor() = default;
  Factor(const Symbolic& symbolic, const AssemblyTree& tree);

  /// Layout of a front's panel as it was factored.
  [[nodiscard]] Trapezoid panel(const Symbolic& symbolic, const AssemblyTree& tree,
                                std::int32_t front) const;
  /// Where side 0 of a front's panel begins; side 1 follows it.
  /// @param node_storage  the storage of the front's node, or a copy read from the file
  [[nodiscard]] const T* panel_data(std::int32_t s, const T* node_storage) const {
    return delayed_in(s) > 0 ? delays[s]->panel.template as<T>()
                             : node_storage + offset[s];
  }
  /// Null: no column of the front, or of its children, was put off.
  [[nodiscard]] FrontDelays<T>* delays_of(std::int32_t s) const {
    return delays.empty() ? nullptr : delays[s].get();
  }
  [[nodiscard]] std::int32_t delayed_in(std::int32_t s) const {
    const FrontDelays<T>* const own = delays_of(s);
    return own != nullptr ? own->delayed_in : 0;
  }
  [[nodiscard]] std::int32_t delayed_out(std::int32_t s) const {
    const FrontDelays<T>* const own = delays_of(s);
    return own != nullptr ? own->delayed_out() : 0;
  }
  /// Null: the panel is as it was laid out.
  [[nodiscard]] LowRankPanel* low_rank_of(std::int32_t s) const {
    const auto place = compressed.find(s);
    return place != compressed.end() ? place->second.get() : nullptr;
  }
  /// Of a front whose rows are cut into strips, FrontStorage::strips; empty: they are
  /// not.
  [[nodiscard]] std::span<const std::int32_t> strips_of(std::int32_t s) const {
    const auto place = strips.find(s);
    return place != strips.end() ? std::span<const std::int32_t>(place->second)
                                 : std::span<const std::int32_t>();
  }
  /// Leading dimension of the diagonal block that begins in row `first` of a front.
  /// @param whole  if all rows of its block column stand together
  [[nodiscard]] std::int32_t leading(std::int32_t s, std::int32_t first,
                                     std::int32_t whole) const {
    const std::span<const std::int32_t> cut = strips_of(s);
    return cut.empty() ? whole : cut[strip_of_row(cut, first) + 1] - first;
  }
  /// Over all compressed fronts.
  [[nodiscard]] LowRankStatistics low_rank() const;
  /// What the constructor allocates.
  [[nodiscard]] static Bytes footprint(const Symbolic& symbolic, FactorKind kind);
  /// Bytes of its pages in memory.
  [[nodiscard]] Bytes resident() const {
    Bytes sum = 0;
    for_each_buffer(*this, [&](const PageBuffer& buffer) { sum += buffer.resident(); });
    return sum;
  }
  /// The factorisation is over: its meter may go away.
  void forget_meter() noexcept {
    for_each_buffer(*this, [](PageBuffer& buffer) { buffer.forget_meter(); });
  }
  /// And the pool of its pages.
  void forget_pool() noexcept {
    for_each_buffer(*this, [](PageBuffer& buffer) { buffer.forget_pool(); });
  }

  /// One for each node of the assembly tree; empty where it is in the file, at
  /// AssemblyTree::Node::factor_at.
  std::vector<PageBuffer> storage;
  std::shared_ptr<SpillFile> file;  ///< null: all is in memory
  /// Where each front's panel begins in the node's storage, in entries.
  ZeroedVector<std::int64_t> offset;
  /// Of each front; null: none. Cholesky: empty.
  std::vector<std::unique_ptr<FrontDelays<T>>> delays;
  /// Of the fronts that may be compressed; null: it was not.
  std::map<std::int32_t, std::unique_ptr<LowRankPanel>> compressed;
  ZeroedVector<std::int32_t> row_order;     ///< LDL^T, LU: of each own pivot
  ZeroedVector<std::int32_t> column_order;  ///< LU
  ZeroedVector<T> d;  ///< LDL^T: D(k, k), D(k + 1, k) of each own pivot
  /// Of shared fronts that are cut into tiles: FrontStorage::strips.
  std::map<std::int32_t, std::vector<std::int32_t>> strips;
  /// Where variables are kept: the last front's contribution block.
  PageBuffer kept;

 private:
  // @param factor  a Factor, const or not, as what `call` takes is
  template <class Self, class Call>
  static void for_each_buffer(Self& factor, const Call& call) noexcept {
    std::ranges::for_each(factor.storage, call);
    for (auto& [front, panel] : factor.compressed)
      if (panel != nullptr) std::ranges::for_each(panel->together, call);
    for (auto& own : factor.delays)
      if (own != nullptr) call(own->panel);
    call(factor.kept);
  }
};

}  // namespace espalier::solver
