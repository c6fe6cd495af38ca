#include "espalier/parallel/graph_accesses.h"

namespace espalier {

GraphAccesses::GraphAccesses(const TaskGraph& graph, std::span<const TaskId> witness)
    : graph_(&graph),
      first_consumer_(graph.data() > 0 ? graph.consumers(datum_id(0)).data() : nullptr),
      place_(graph.size()),
      waiting_(graph.data(), 0),
      started_(graph.size(), false) {
  std::size_t reads = 0;
  for (std::size_t d = 0; d < graph.data(); ++d)
    reads += graph.consumers(datum_id(d)).size();
  readers_.resize(reads);
  for (std::size_t i = 0; i < witness.size(); ++i) {
    const TaskId task = witness[i];
    place_[index(task)] = static_cast<Place>(i);
    for (const DatumId datum : graph.inputs(task))
      readers(datum)[waiting_[index(datum)]++] = static_cast<Place>(i);
  }
}

std::vector<PrefixPeakTree::Entry> GraphAccesses::steps() {
  std::vector<PrefixPeakTree::Entry> steps(graph_->size());
  for (std::size_t i = 0; i < graph_->size(); ++i) {
    const Op own = op(task_id(i));
    steps[own.place] = {missing(own), graph_->workspace(own.task)};
  }
  for (std::size_t d = 0; d < graph_->data(); ++d) {
    const DatumId datum = datum_id(d);
    if (graph_->stays(datum)) continue;
    const Place last = waiting_[d] > 0 ? readers(datum)[waiting_[d] - 1]
                                       : place_[index(*graph_->producer(datum))];
    steps[last].free += graph_->size(datum);
  }
  return steps;
}

GraphAccesses::Heir GraphAccesses::leave(Op /*op*/, Output written) const {
  const bool read_or_kept =
      graph_->kept(written.datum) || !graph_->consumers(written.datum).empty();
  return {read_or_kept ? Heir::Kind::kSame : Heir::Kind::kLeaver};
}

GraphAccesses::Heir GraphAccesses::leave(Op op, Input read) {
  Place* const readers = this->readers(read.datum);
  std::uint32_t& waiting = waiting_[index(read.datum)];
  if (readers[waiting - 1] != op.place) return {};
  for (; waiting > 1 && started_[readers[waiting - 2]]; --waiting)
    readers[waiting - 2] = op.place;
  --waiting;
  return heir(read.datum);
}

// One that was the last still stands behind the others.
GraphAccesses::Heir GraphAccesses::join(Op op, Input read) {
  std::uint32_t& waiting = waiting_[index(read.datum)];
  if (waiting == graph_->consumers(read.datum).size() ||
      readers(read.datum)[waiting] != op.place)
    return {};
  const Heir before = heir(read.datum);
  ++waiting;
  return before;
}

// Who frees the datum when its last reader has been taken out.
GraphAccesses::Heir GraphAccesses::heir(DatumId datum) {
  const std::uint32_t waiting = waiting_[index(datum)];
  if (graph_->kept(datum)) return {};
  if (waiting == 0) return {Heir::Kind::kLeaver};
  return {Heir::Kind::kAnother, readers(datum)[waiting - 1]};
}

}  // namespace espalier
