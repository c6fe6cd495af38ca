#include "espalier/parallel/graph_banker.h"

#include "espalier/model/error.h"

namespace espalier {

GraphBanker::GraphBanker(const TaskGraph& graph, std::span<const TaskId> witness,
                         Bytes bound)
    : graph_(&graph),
      memory_(graph),
      rest_(
          [this](std::uint32_t task, WitnessTree::Place place) { place_[task] = place; }),
      place_(graph.size()),
      first_read_(graph.size() + 1, 0),
      last_(graph.data(), kNone),
      bound_(bound),
      resident_(graph.initial_bytes()),
      base_(graph.initial_bytes()) {
  check_witness(graph, witness, bound);
  for (const TaskId task : witness) {
    place_[index(task)] =
        rest_.append(static_cast<std::uint32_t>(task), memory_.allocates(task));
  }
  list_reads(witness);
  for (std::size_t i = 0; i < graph.size(); ++i) {
    const TaskId task = task_id(i);
    rest_.change(place_[i], 0, memory_.allocates(task) - stays(task));
  }
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (last_[d] != kNone) frees(last_[d], datum_id(d), graph.size(datum_id(d)));
  }
}

// Bytes of its outputs that are in memory when the operator has ended.
Bytes GraphBanker::stays(TaskId task) const {
  Bytes bytes = 0;
  for (const DatumId datum : graph_->outputs(task)) {
    if (graph_->kept(datum) || !graph_->consumers(datum).empty()) {
      bytes += graph_->size(datum);
    }
  }
  return bytes;
}

void GraphBanker::list_reads(std::span<const TaskId> witness) {
  for (std::size_t i = 0; i < graph_->size(); ++i) {
    first_read_[i + 1] = first_read_[i] + graph_->inputs(task_id(i)).size();
  }
  reads_.resize(first_read_.back(), {kNone, kNone});
  reader_.resize(reads_.size());
  for (const TaskId task : witness) {
    auto read = static_cast<std::int32_t>(first_read_[index(task)]);
    for (const DatumId datum : graph_->inputs(task)) {
      reader_[static_cast<std::size_t>(read)] = task;
      std::int32_t& last = last_[index(datum)];
      at(read).earlier = last;
      if (last != kNone) at(last).later = read;
      last = read++;
    }
  }
}

// The operator that reads frees the datum when it ends.
void GraphBanker::frees(std::int32_t read, DatumId datum, Bytes bytes) {
  if (graph_->kept(datum)) return;
  rest_.change(place_[index(reader_[static_cast<std::size_t>(read)])], 0, bytes);
}

void GraphBanker::begin(std::vector<TaskId>& candidates) {
  for (std::size_t i = 0; i < graph_->size(); ++i) {
    if (memory_.ready(task_id(i))) candidates.push_back(task_id(i));
  }
}

void GraphBanker::end(TaskId task, std::vector<TaskId>& candidates) {
  resident_ -= memory_.end(task, candidates);
}

bool GraphBanker::try_start(TaskId task) {
  ESPALIER_ASSERT(memory_.ready(task), "a candidate");
  if (memory_.allocates(task) > bound_ - resident_) return false;
  leave(task);
  if (rest_.first_above(bound_ - base_)) {
    rejoin(task);
    return false;
  }
  resident_ += memory_.allocates(task);
  return true;
}

// The operator counts as started: who reads its inputs last may be another one now. What
// it frees itself stays noted at its place, for rejoin().
void GraphBanker::leave(TaskId task) {
  rest_.remove(place_[index(task)]);
  base_ += stays(task);
  auto read = static_cast<std::int32_t>(first_read_[index(task)]);
  for (const DatumId datum : graph_->inputs(task)) {
    const auto [earlier, later] = at(read++);
    if (earlier != kNone) at(earlier).later = later;
    if (later != kNone) {
      at(later).earlier = earlier;
      continue;
    }
    last_[index(datum)] = earlier;
    if (earlier != kNone) {
      frees(earlier, datum, graph_->size(datum));
    } else if (!graph_->kept(datum)) {
      base_ -= graph_->size(datum);
    }
  }
}

// Undoes leave(), nothing having come between: a read still knows its neighbours.
void GraphBanker::rejoin(TaskId task) {
  auto read = static_cast<std::int32_t>(first_read_[index(task)]);
  for (const DatumId datum : graph_->inputs(task)) {
    const auto [earlier, later] = at(read);
    if (earlier != kNone) at(earlier).later = read;
    if (later != kNone) {
      at(later).earlier = read;
    } else {
      last_[index(datum)] = read;
      if (earlier != kNone) {
        frees(earlier, datum, -graph_->size(datum));
      } else if (!graph_->kept(datum)) {
        base_ += graph_->size(datum);
      }
    }
    ++read;
  }
  base_ -= stays(task);
  rest_.restore(place_[index(task)]);
}

}  // namespace espalier
