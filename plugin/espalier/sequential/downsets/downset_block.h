#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/task_graph.h"
#include "espalier/model/units.h"

namespace espalier {

/// A datum of a block: as in task_graph.h, seen from inside the block.
struct BlockDatum {
  Bytes size = 0;
  std::int32_t producer = -1;         ///< -1: in memory before the block starts
  std::vector<std::int32_t> readers;  ///< tasks of the block, each once
  bool stays = false;                 ///< in memory when the whole block has run
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
struct Block {
  std::vector<Bytes> cost;  ///< by task, at least what its outputs need
  std::vector<BlockDatum> data;
  /// (a, b): a runs before b, besides what follows from data
  std::vector<std::pair<std::int32_t, std::int32_t>> before;

  [[nodiscard]] std::size_t size() const { return cost.size(); }
};

/// All of a graph: task i is operator i, datum d is datum d.
[[nodiscard]] Block block_of(const TaskGraph& graph);

/// The relations of a block as lists: what every search over it reads.
class BlockIndex {
 public:
  explicit BlockIndex(const Block& block);

  [[nodiscard]] std::size_t size() const { return cost_.size(); }
  [[nodiscard]] std::size_t data() const { return size_.size(); }
  [[nodiscard]] Bytes cost(std::int32_t task) const { return cost_[at(task)]; }
  /// Each once, by data or by `before`.
  [[nodiscard]] std::span<const std::int32_t> predecessors(std::int32_t task) const {
    return predecessors_[at(task)];
  }
  [[nodiscard]] std::span<const std::int32_t> successors(std::int32_t task) const {
    return successors_[at(task)];
  }
  [[nodiscard]] std::span<const std::int32_t> inputs(std::int32_t task) const {
    return inputs_[at(task)];
  }
  [[nodiscard]] std::span<const std::int32_t> outputs(std::int32_t task) const {
    return outputs_[at(task)];
  }
  [[nodiscard]] std::span<const std::int32_t> readers(std::int32_t datum) const {
    return readers_[at(datum)];
  }
  [[nodiscard]] Bytes datum_size(std::int32_t datum) const { return size_[at(datum)]; }
  [[nodiscard]] bool stays(std::int32_t datum) const { return stays_[at(datum)]; }
  [[nodiscard]] std::int32_t producer(std::int32_t datum) const {
    return producer_[at(datum)];
  }
  /// Bytes that the task leaves in memory until others have read them.
  [[nodiscard]] Bytes left_by(std::int32_t task) const { return left_by_[at(task)]; }
  /// v of the empty set and of all tasks.
  [[nodiscard]] Bytes start_level() const { return start_level_; }
  [[nodiscard]] Bytes end_level() const { return end_level_; }

  /// All tasks, predecessors first, by increasing number where there is a choice between
  /// tasks that become ready together.
  [[nodiscard]] std::vector<std::int32_t> topological_order() const;

 private:
  // Lists of numbers, one a row.
  class Rows {
   public:
    void assign(std::size_t rows,
                std::span<const std::pair<std::int32_t, std::int32_t>> pairs);
    /// Row i holds the rows that held i, increasing, and each once.
    [[nodiscard]] Rows transposed(std::size_t rows) const;
    [[nodiscard]] std::span<const std::int32_t> operator[](std::size_t row) const {
      return std::span(items_).subspan(first_[row], first_[row + 1] - first_[row]);
    }

   private:
    std::vector<std::size_t> first_;
    std::vector<std::int32_t> items_;
  };

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  void list_data(const Block& block);
  void list_precedence(const Block& block);

  std::vector<Bytes> cost_, size_, left_by_;
  std::vector<std::int32_t> producer_;
  std::vector<bool> stays_;
  Rows predecessors_, successors_, inputs_, outputs_, readers_;
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
  [[nodiscard]] Block part(std::span<const std::int32_t> tasks,
                           const std::vector<bool>& has_run);

 private:
  void add_datum(std::int32_t datum, const std::vector<bool>& has_run, Block& part);

  const BlockIndex* whole_;
  std::vector<std::int32_t> number_;  // by task, -1: outside
  std::vector<bool> is_added_;        // by datum, all false between calls
};

}  // namespace espalier
