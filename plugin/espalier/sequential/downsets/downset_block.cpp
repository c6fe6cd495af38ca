#include "espalier/sequential/downsets/downset_block.h"

#include <algorithm>
#include <utility>

namespace espalier {
namespace {

BlockTaskId in_block(TaskId task) { return BlockTaskId{static_cast<std::int32_t>(task)}; }

}  // namespace

DownsetBlock block_of(const TaskGraph& graph) {
  DownsetBlock block;
  block.cost.resize(graph.size());
  for (const TaskId task : ids<TaskId>(graph.size())) {
    Bytes& cost = block.cost[in_block(task)];
    cost = graph.workspace(task);
    for (const DatumId datum : graph.outputs(task)) cost += graph.size(datum);
  }
  block.data.reserve(graph.data());
  for (const DatumId datum : ids<DatumId>(graph.data())) {
    BlockDatum of;
    of.size = graph.size(datum);
    of.stays = graph.stays(datum);
    if (const auto producer = graph.producer(datum)) of.producer = in_block(*producer);
    of.readers.reserve(graph.consumers(datum).size());
    for (const TaskId reader : graph.consumers(datum)) {
      of.readers.push_back(in_block(reader));
    }
    block.data.push_back(std::move(of));
  }
  return block;
}

template <class Row, class Item>
void BlockIndex::Rows<Row, Item>::assign(std::size_t rows,
                                         std::span<const std::pair<Row, Item>> pairs) {
  first_.assign(rows + 1, 0);
  for (const auto& [row, item] : pairs) ++first_[index(row) + 1];
  for (std::size_t i = 0; i < rows; ++i) first_[i + 1] += first_[i];
  items_.resize(pairs.size());
  std::vector<std::size_t> end(first_.begin(), first_.end() - 1);
  for (const auto& [row, item] : pairs) items_[end[index(row)]++] = item;
}

template <class Row, class Item>
BlockIndex::Rows<Item, Row> BlockIndex::Rows<Row, Item>::transposed(
    std::size_t rows) const {
  std::vector<std::size_t> end(rows, 0);
  for (const Item item : items_) ++end[index(item)];
  std::size_t sum = 0;
  for (std::size_t& count : end) sum += std::exchange(count, sum);
  std::vector<std::size_t> begin = end;
  std::vector<Row> all(items_.size());
  for (const Row row : ids<Row>(first_.size() - 1)) {
    for (const Item item : (*this)[row]) {
      std::size_t& next = end[index(item)];
      if (next == begin[index(item)] || all[next - 1] != row) all[next++] = row;
    }
  }
  Rows<Item, Row> result;
  result.first_.reserve(rows + 1);
  result.first_.push_back(0);
  result.items_.reserve(all.size());
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = all.begin() + static_cast<std::ptrdiff_t>(begin[row]);
    const auto to = all.begin() + static_cast<std::ptrdiff_t>(end[row]);
    result.items_.insert(result.items_.end(), from, to);
    result.first_.push_back(result.items_.size());
  }
  return result;
}

void BlockIndex::list_data(const DownsetBlock& block) {
  std::vector<std::pair<BlockTaskId, BlockDatumId>> inputs, outputs;
  std::vector<std::pair<BlockDatumId, BlockTaskId>> readers;
  std::size_t reads = 0;
  for (const BlockDatum& datum : block.data) reads += datum.readers.size();
  inputs.reserve(reads);
  readers.reserve(reads);
  size_.reserve(block.data.size());
  stays_.reserve(block.data.size());
  producer_.reserve(block.data.size());
  for (const BlockDatumId datum : block.data.ids()) {
    const BlockDatum& of = block.data[datum];
    size_.push_back(of.size);
    stays_.push_back(of.stays);
    producer_.push_back(of.producer);
    if (of.is_written()) outputs.emplace_back(of.producer, datum);
    for (const BlockTaskId reader : of.readers) {
      inputs.emplace_back(reader, datum);
      readers.emplace_back(datum, reader);
    }
    const bool lives = of.stays || !of.readers.empty();
    if (lives) (of.is_written() ? left_by_[of.producer] : start_level_) += of.size;
    if (of.stays) end_level_ += of.size;
  }
  inputs_.assign(size(), inputs);
  outputs_.assign(size(), outputs);
  readers_.assign(data(), readers);
}

void BlockIndex::list_precedence(const DownsetBlock& block) {
  auto before = block.before;
  for (const BlockDatum& datum : block.data) {
    if (!datum.is_written()) continue;
    for (const BlockTaskId reader : datum.readers) {
      before.emplace_back(datum.producer, reader);
    }
  }
  Rows<BlockTaskId, BlockTaskId> given;  // in any order, with repeats
  given.assign(size(), before);
  predecessors_ = given.transposed(size());
  successors_ = predecessors_.transposed(size());
}

BlockIndex::BlockIndex(const DownsetBlock& block)
    : cost_(block.cost), left_by_(block.size(), 0) {
  list_data(block);
  list_precedence(block);
}

std::vector<BlockTaskId> BlockIndex::topological_order() const {
  IdVector<BlockTaskId, std::size_t> waiting(size());
  std::vector<BlockTaskId> order;
  order.reserve(size());
  for (const BlockTaskId task : waiting.ids()) {
    waiting[task] = predecessors_[task].size();
    if (waiting[task] == 0) order.push_back(task);
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    for (const BlockTaskId after : successors(order[k])) {
      if (--waiting[after] == 0) order.push_back(after);
    }
  }
  return order;
}

BlockCutter::BlockCutter(const BlockIndex& whole)
    : whole_(&whole),
      number_(whole.size(), kNoBlockTask),
      is_added_(whole.data(), false) {}

void BlockCutter::add_datum(BlockDatumId datum,
                            const IdVector<BlockTaskId, bool>& has_run,
                            DownsetBlock& part) {
  if (is_added_[datum]) return;
  is_added_[datum] = true;
  const BlockTaskId producer = whole_->producer(datum);
  BlockDatum of{whole_->datum_size(datum), kNoBlockTask, {}, whole_->stays(datum)};
  if (producer != kNoBlockTask) of.producer = number_[producer];
  for (const BlockTaskId reader : whole_->readers(datum)) {
    if (number_[reader] != kNoBlockTask) {
      of.readers.push_back(number_[reader]);
    } else if (!has_run[reader]) {
      of.stays = true;
    }
  }
  part.data.push_back(std::move(of));
}

DownsetBlock BlockCutter::part(std::span<const BlockTaskId> tasks,
                               const IdVector<BlockTaskId, bool>& has_run) {
  DownsetBlock part;
  part.cost.reserve(tasks.size());
  for (const BlockTaskId task : tasks) {
    number_[task] = part.cost.push_back(whole_->cost(task));
  }
  for (const BlockTaskId task : tasks) {
    for (const BlockTaskId before : whole_->predecessors(task)) {
      const BlockTaskId from = number_[before];
      if (from != kNoBlockTask) part.before.emplace_back(from, number_[task]);
    }
    for (const BlockDatumId datum : whole_->inputs(task)) add_datum(datum, has_run, part);
    for (const BlockDatumId datum : whole_->outputs(task)) {
      add_datum(datum, has_run, part);
    }
  }
  for (const BlockTaskId task : tasks) {
    number_[task] = kNoBlockTask;
    for (const BlockDatumId datum : whole_->inputs(task)) {
      is_added_[datum] = false;
    }
    for (const BlockDatumId datum : whole_->outputs(task)) {
      is_added_[datum] = false;
    }
  }
  return part;
}

}  // namespace espalier
