#include "espalier/sequential/downsets/downset_block.h"

#include <algorithm>
#include <utility>

namespace espalier {
namespace {

std::int32_t number_of(TaskId task) { return static_cast<std::int32_t>(task); }

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

}  // namespace

Block block_of(const TaskGraph& graph) {
  Block block;
  block.cost.resize(graph.size());
  for (std::size_t i = 0; i < graph.size(); ++i) {
    block.cost[i] = graph.workspace(task_id(i));
    for (const DatumId datum : graph.outputs(task_id(i))) {
      block.cost[i] += graph.size(datum);
    }
  }
  block.data.resize(graph.data());
  for (std::size_t d = 0; d < graph.data(); ++d) {
    const DatumId datum = datum_id(d);
    BlockDatum& of = block.data[d];
    of.size = graph.size(datum);
    of.stays = graph.stays(datum);
    if (const auto producer = graph.producer(datum)) of.producer = number_of(*producer);
    of.readers.reserve(graph.consumers(datum).size());
    for (const TaskId reader : graph.consumers(datum)) {
      of.readers.push_back(number_of(reader));
    }
  }
  return block;
}

void BlockIndex::Rows::assign(
    std::size_t rows, std::span<const std::pair<std::int32_t, std::int32_t>> pairs) {
  first_.assign(rows + 1, 0);
  for (const auto& [row, item] : pairs) ++first_[at(row) + 1];
  for (std::size_t i = 0; i < rows; ++i) first_[i + 1] += first_[i];
  items_.resize(pairs.size());
  std::vector<std::size_t> end(first_.begin(), first_.end() - 1);
  for (const auto& [row, item] : pairs) items_[end[at(row)]++] = item;
}

BlockIndex::Rows BlockIndex::Rows::transposed(std::size_t rows) const {
  std::vector<std::size_t> end(rows, 0);
  for (const std::int32_t item : items_) ++end[at(item)];
  std::size_t sum = 0;
  for (std::size_t& count : end) sum += std::exchange(count, sum);
  std::vector<std::size_t> begin = end;
  std::vector<std::int32_t> all(items_.size());
  for (std::size_t row = 0; row + 1 < first_.size(); ++row) {
    for (const std::int32_t item : (*this)[row]) {
      std::size_t& next = end[at(item)];
      const auto number = static_cast<std::int32_t>(row);
      if (next == begin[at(item)] || all[next - 1] != number) all[next++] = number;
    }
  }
  Rows result;
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

void BlockIndex::list_data(const Block& block) {
  Pairs inputs, outputs, readers;
  for (std::size_t d = 0; d < block.data.size(); ++d) {
    const auto datum = static_cast<std::int32_t>(d);
    const BlockDatum& of = block.data[d];
    size_.push_back(of.size);
    stays_.push_back(of.stays);
    producer_.push_back(of.producer);
    if (of.producer >= 0) outputs.emplace_back(of.producer, datum);
    for (const std::int32_t reader : of.readers) {
      inputs.emplace_back(reader, datum);
      readers.emplace_back(datum, reader);
    }
    const bool lives = of.stays || !of.readers.empty();
    if (of.producer >= 0 && lives) left_by_[at(of.producer)] += of.size;
    if (of.producer < 0 && lives) start_level_ += of.size;
    if (of.stays) end_level_ += of.size;
  }
  inputs_.assign(size(), inputs);
  outputs_.assign(size(), outputs);
  readers_.assign(data(), readers);
}

void BlockIndex::list_precedence(const Block& block) {
  Pairs before = block.before;
  for (const BlockDatum& datum : block.data) {
    if (datum.producer < 0) continue;
    for (const std::int32_t reader : datum.readers) {
      before.emplace_back(datum.producer, reader);
    }
  }
  Rows given;  // in any order, with repeats
  given.assign(size(), before);
  predecessors_ = given.transposed(size());
  successors_ = predecessors_.transposed(size());
}

BlockIndex::BlockIndex(const Block& block)
    : cost_(block.cost), left_by_(block.size(), 0) {
  list_data(block);
  list_precedence(block);
}

std::vector<std::int32_t> BlockIndex::topological_order() const {
  std::vector<std::size_t> waiting(size());
  std::vector<std::int32_t> order;
  order.reserve(size());
  for (std::size_t i = 0; i < size(); ++i) {
    waiting[i] = predecessors_[i].size();
    if (waiting[i] == 0) order.push_back(static_cast<std::int32_t>(i));
  }
  for (std::size_t k = 0; k < order.size(); ++k) {
    for (const std::int32_t after : successors(order[k])) {
      if (--waiting[at(after)] == 0) order.push_back(after);
    }
  }
  return order;
}

BlockCutter::BlockCutter(const BlockIndex& whole)
    : whole_(&whole), number_(whole.size(), -1), is_added_(whole.data(), false) {}

void BlockCutter::add_datum(std::int32_t datum, const std::vector<bool>& has_run,
                            Block& part) {
  const auto d = static_cast<std::size_t>(datum);
  if (is_added_[d]) return;
  is_added_[d] = true;
  const std::int32_t producer = whole_->producer(datum);
  BlockDatum of{whole_->datum_size(datum), -1, {}, whole_->stays(datum)};
  if (producer >= 0) of.producer = number_[static_cast<std::size_t>(producer)];
  for (const std::int32_t reader : whole_->readers(datum)) {
    const auto i = static_cast<std::size_t>(reader);
    if (number_[i] >= 0) {
      of.readers.push_back(number_[i]);
    } else if (!has_run[i]) {
      of.stays = true;
    }
  }
  part.data.push_back(std::move(of));
}

Block BlockCutter::part(std::span<const std::int32_t> tasks,
                        const std::vector<bool>& has_run) {
  Block part;
  part.cost.reserve(tasks.size());
  for (const std::int32_t task : tasks) {
    number_[static_cast<std::size_t>(task)] = static_cast<std::int32_t>(part.size());
    part.cost.push_back(whole_->cost(task));
  }
  for (const std::int32_t task : tasks) {
    const std::int32_t number = number_[static_cast<std::size_t>(task)];
    for (const std::int32_t before : whole_->predecessors(task)) {
      const std::int32_t from = number_[static_cast<std::size_t>(before)];
      if (from >= 0) part.before.emplace_back(from, number);
    }
    for (const std::int32_t datum : whole_->inputs(task)) add_datum(datum, has_run, part);
    for (const std::int32_t datum : whole_->outputs(task)) {
      add_datum(datum, has_run, part);
    }
  }
  for (const std::int32_t task : tasks) {
    number_[static_cast<std::size_t>(task)] = -1;
    for (const std::int32_t datum : whole_->inputs(task)) {
      is_added_[static_cast<std::size_t>(datum)] = false;
    }
    for (const std::int32_t datum : whole_->outputs(task)) {
      is_added_[static_cast<std::size_t>(datum)] = false;
    }
  }
  return part;
}

}  // namespace espalier
