#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/model/task_graph.h"
#include "espalier/model/units.h"

namespace espalier {

/// Number of a task in its block.
enum class BlockTaskId : std::int32_t {};
/// Number of a datum in its block.
enum class BlockDatumId : std::int32_t {};

inline constexpr BlockTaskId kNoBlockTask{-1};

/// A datum of a block: as in task_graph.h, seen from inside the block.
struct BlockDatum {
  Bytes size = 0;
  BlockTaskId producer = kNoBlockTask;  ///< none: in memory before the block starts
  std::vector<BlockTaskId> readers;     ///< tasks of the block, each once
  bool stays = false;                   ///< in memory when the whole block has run

  [[nodiscard]] bool is_written() const { return producer != kNoBlockTask; }
};

/// A piece of a graph on its own, or a graph that has been simplified: tasks 0 … n-1.
///
/// A downset is a set S of tasks that holds all predecessors of its tasks: what may have
/// run at some time. In memory are then
///   v(S) = sum of the sizes of the data that are written and are still to be read or
///   stay,
/// counted without whatever the block does not touch. Running task x after S needs
///   v(S) + cost[x]
/// and leaves v(S + x). v is submodular, v(S ∪ T) + v(S ∩ T) <= v(S) + v(T), and the
/// searches over downsets (dominant_schedule.h, bounded_search.h) rest on nothing else.
///
/// A task may stand for a run of operators: then cost is the peak of the run over v(S).
struct DownsetBlock {
  IdVector<BlockTaskId, Bytes> cost;  ///< at least what its outputs need
  IdVector<BlockDatumId, BlockDatum> data;
  /// (a, b): a runs before b, besides what follows from data
  std::vector<std::pair<BlockTaskId, BlockTaskId>> before;

  [[nodiscard]] std::size_t size() const { return cost.size(); }
};

/// All of a graph: task i is operator i, datum d is datum d.
[[nodiscard]] DownsetBlock block_of(const TaskGraph& graph);

/// The relations of a block as lists: what every search over it reads.
class BlockIndex {
 public:
  explicit BlockIndex(const DownsetBlock& block);

  [[nodiscard]] std::size_t size() const { return cost_.size(); }
  [[nodiscard]] std::size_t data() const { return size_.size(); }
  [[nodiscard]] Bytes cost(BlockTaskId task) const { return cost_[task]; }
  /// Each once, by data or by `before`.
  [[nodiscard]] std::span<const BlockTaskId> predecessors(BlockTaskId task) const {
    return predecessors_[task];
  }
  [[nodiscard]] std::span<const BlockTaskId> successors(BlockTaskId task) const {
    return successors_[task];
  }
  [[nodiscard]] std::span<const BlockDatumId> inputs(BlockTaskId task) const {
    return inputs_[task];
  }
  [[nodiscard]] std::span<const BlockDatumId> outputs(BlockTaskId task) const {
    return outputs_[task];
  }
  [[nodiscard]] std::span<const BlockTaskId> readers(BlockDatumId datum) const {
    return readers_[datum];
  }
  [[nodiscard]] Bytes datum_size(BlockDatumId datum) const { return size_[datum]; }
  [[nodiscard]] bool stays(BlockDatumId datum) const { return stays_[datum]; }
  [[nodiscard]] BlockTaskId producer(BlockDatumId datum) const {
    return producer_[datum];
  }
  /// Bytes that the task leaves in memory until others have read them.
  [[nodiscard]] Bytes left_by(BlockTaskId task) const { return left_by_[task]; }
  /// v of the empty set and of all tasks.
  [[nodiscard]] Bytes start_level() const { return start_level_; }
  [[nodiscard]] Bytes end_level() const { return end_level_; }

  /// All tasks, predecessors first, by increasing number where there is a choice between
  /// tasks that become ready together.
  [[nodiscard]] std::vector<BlockTaskId> topological_order() const;

 private:
  // Lists of items, one a row.
  template <class Row, class Item>
  class Rows {
   public:
    void assign(std::size_t rows, std::span<const std::pair<Row, Item>> pairs);
    /// Row i holds the rows that held i, increasing, and each once.
    [[nodiscard]] Rows<Item, Row> transposed(std::size_t rows) const;
    [[nodiscard]] std::span<const Item> operator[](Row row) const {
      const std::size_t i = index(row);
      return std::span(items_).subspan(first_[i], first_[i + 1] - first_[i]);
    }

   private:
    template <class, class>
    friend class Rows;
    std::vector<std::size_t> first_;
    std::vector<Item> items_;
  };

  void list_data(const DownsetBlock& block);
  void list_precedence(const DownsetBlock& block);

  IdVector<BlockTaskId, Bytes> cost_, left_by_;
  IdVector<BlockDatumId, Bytes> size_;
  IdVector<BlockDatumId, BlockTaskId> producer_;
  IdVector<BlockDatumId, bool> stays_;
  Rows<BlockTaskId, BlockTaskId> predecessors_, successors_;
  Rows<BlockTaskId, BlockDatumId> inputs_, outputs_;
  Rows<BlockDatumId, BlockTaskId> readers_;
  Bytes start_level_ = 0, end_level_ = 0;
};

/// Cuts blocks into pieces.
class BlockCutter {
 public:
  explicit BlockCutter(const BlockIndex& whole);

  /// Some tasks, renumbered: task k is tasks[k]. Tasks outside have run before when
  /// has_run says so, and run after otherwise; what these still read stays. Data that no
  /// task of `tasks` touches are left out.
  /// @par Cost  the neighbours and data of the tasks, and the readers of these
  [[nodiscard]] DownsetBlock part(std::span<const BlockTaskId> tasks,
                                  const IdVector<BlockTaskId, bool>& has_run);

 private:
  void add_datum(BlockDatumId datum, const IdVector<BlockTaskId, bool>& has_run,
                 DownsetBlock& part);

  const BlockIndex* whole_;
  IdVector<BlockTaskId, BlockTaskId> number_;  // in the part
  IdVector<BlockDatumId, bool> is_added_;      // all false between calls
};

}  // namespace espalier
