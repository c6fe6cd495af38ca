#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "espalier/model/task_graph.h"
#include "espalier/parallel/banker_rule.h"

namespace espalier {

/// Which operator of a graph works on which data, for BankerRule, the order being a
/// witness that is known beforehand. An operator stands for its place in the witness.
///
/// An operator works on what it reads and writes, and on its workspace, which is a datum
/// of its own; data are released from the start, unless they are kept. So what it writes
/// and its workspace are never booked before it starts, what it reads always is, and only
/// who reads a datum last has to be found: each datum has the places of its readers, in
/// order, the last of them being one that has not started. Those before it are taken out,
/// when they have started, only once they would be the last: by and by, O(1) a read.
///
/// @par Cost  O(1) an access in the long run; 4 bytes a read, a datum and an operator
/// @par Test  GraphAdmission.*
class GraphAccesses {
 public:
  using Place = BankerRule::Place;
  using Took = BankerRule::Took;
  using Heir = BankerRule::Heir;
  struct Op {
    TaskId task;
    Place place;
  };

  /// The graph must outlive this object; the witness is an order of it.
  GraphAccesses(const TaskGraph& graph, std::span<const TaskId> witness);

  [[nodiscard]] Op op(TaskId task) const { return {task, place_[index(task)]}; }
  /// alloc_i and free_i of the rule, by place, before anything has started.
  [[nodiscard]] std::vector<PrefixPeakTree::Entry> steps();

  // What BankerRule asks for.
  struct Workspace {
    Bytes bytes;
  };
  struct Output {
    DatumId datum;
  };
  struct Input {
    DatumId datum;
  };
  [[nodiscard]] static Place place(Op op) { return op.place; }
  [[nodiscard]] Bytes missing(Op op) const;
  template <class Visit>
  void for_each(Op op, Visit&& visit);
  [[nodiscard]] static Bytes size(Workspace own) { return own.bytes; }
  [[nodiscard]] Bytes size(Output written) const { return graph_->size(written.datum); }
  [[nodiscard]] Bytes size(Input read) const { return graph_->size(read.datum); }
  [[nodiscard]] static bool loose(auto /*access*/) { return false; }
  [[nodiscard]] static Took take(auto /*own*/) { return Took::kFirst; }
  [[nodiscard]] static Took take(Input /*read*/) { return Took::kNothing; }
  [[nodiscard]] static Took put_back(auto access) { return take(access); }
  [[nodiscard]] static Place first(Op op, auto /*own*/) { return op.place; }
  [[nodiscard]] static Heir leave(Op, Workspace) { return {Heir::Kind::kLeaver}; }
  [[nodiscard]] Heir leave(Op op, Output written) const;
  [[nodiscard]] Heir leave(Op op, Input read);
  [[nodiscard]] Heir join(Op op, auto own) const { return leave(op, own); }
  [[nodiscard]] Heir join(Op op, Input read);
  void set_started(Op op, bool it) { started_[op.place] = it; }

 private:
  [[nodiscard]] Place* readers(DatumId datum) {
    return readers_.data() + (graph_->consumers(datum).data() - first_consumer_);
  }
  [[nodiscard]] Heir heir(DatumId datum);

  const TaskGraph* graph_;
  const TaskId* first_consumer_;        // of the datum 0: those of all are one array
  std::vector<Place> place_;            // by operator
  std::vector<Place> readers_;          // by datum, where consumers() has as many
  std::vector<std::uint32_t> waiting_;  // by datum: readers not taken out
  std::vector<bool> started_;           // by place
};

template <class Visit>
void GraphAccesses::for_each(Op op, Visit&& visit) {
  if (const Bytes bytes = graph_->workspace(op.task); bytes > 0) visit(Workspace{bytes});
  for (const DatumId datum : graph_->outputs(op.task)) visit(Output{datum});
  for (const DatumId datum : graph_->inputs(op.task)) visit(Input{datum});
}

inline Bytes GraphAccesses::missing(Op op) const {
  Bytes bytes = graph_->workspace(op.task);
  for (const DatumId datum : graph_->outputs(op.task)) bytes += graph_->size(datum);
  return bytes;
}

}  // namespace espalier
