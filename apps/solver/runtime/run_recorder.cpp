#include "solver/runtime/run_recorder.h"

#include <algorithm>
#include <array>
#include <tuple>

#include "espalier/model/error.h"
#include "espalier/model/processor_time.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver {
namespace {

enum RecordKind : std::int32_t { kSubtree, kFront, kOpen, kAssemble };

// Names of what a record has: the nodes that one task runs, the task that opens a tiled
// front, and TileTask::Kind from kAssemble on.
constexpr std::array<const char*, 9> kNames = {"subtree",  "front",  "open",
                                               "assemble", "factor", "solve",
                                               "accept",   "update", "finish"};

// A place among all tasks of a node; the first one is none.
using Key = std::tuple<std::int32_t, int, std::int32_t, std::int32_t, std::int32_t>;
Key key_of(std::int32_t node, const TileTask& tile) {
  return {node, static_cast<int>(tile.kind), tile.column, tile.row, tile.source};
}

// Of the gaps between the tasks of a worker; entries are in the order of their starts.
Seconds median_gap(const RunRecord& run) {
  std::vector<Seconds> end(static_cast<std::size_t>(run.workers), -1), gaps;
  for (const RunRecord::Task& task : run.tasks) {
    Seconds& last = end[static_cast<std::size_t>(task.worker)];
    if (last >= 0) gaps.push_back(std::max(0.0, task.start - last));
    last = task.start + task.seconds;
  }
  if (gaps.empty()) return 0;
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return *middle;
}

}  // namespace

RunRecorder::RunRecorder(std::int32_t workers)
    : start_(Clock::now()), workers_(static_cast<std::size_t>(workers)) {}

void RunRecorder::opened(std::int32_t node, const TileShape& shape) {
  const std::scoped_lock lock(mutex_);
  shapes_[node] = shape;
}

void RunRecorder::begin(std::int32_t node, const TileTask* tile, int priority) noexcept {
  const int id = worker_rank();
  if (id < 0) return;
  Worker& worker = workers_[static_cast<std::size_t>(id)];
  try {
    Entry& entry = worker.entries.emplace_back();
    entry.task.node = node;
    entry.task.worker = id;
    entry.task.priority = priority;
    entry.first = tile == nullptr;
    if (tile != nullptr) entry.tile = *tile;
    worker.running = true;
    worker.processor_start = thread_seconds();
    entry.task.start = since(start_);
  } catch (...) {
    worker.failed = true;
  }
}

void RunRecorder::end() noexcept {
  const int id = worker_rank();
  if (id < 0 || !workers_[static_cast<std::size_t>(id)].running) return;
  Worker& worker = workers_[static_cast<std::size_t>(id)];
  RunRecord::Task& task = worker.entries.back().task;
  task.seconds = since(start_) - task.start;
  task.processor = thread_seconds() - worker.processor_start;
  worker.running = false;
}

void RunRecorder::changed(Bytes delta) noexcept {
  const int id = worker_rank();
  if (id < 0 || !workers_[static_cast<std::size_t>(id)].running) return;
  RunRecord::Task& task = workers_[static_cast<std::size_t>(id)].entries.back().task;
  task.kept += delta;
  task.taken = std::max(task.taken, task.kept);
}

std::vector<const RunRecorder::Entry*> RunRecorder::in_order() const {
  std::vector<const Entry*> all;
  for (const Worker& worker : workers_) {
    if (worker.failed) throw Error("no memory for the record of the run");
    for (const Entry& entry : worker.entries) all.push_back(&entry);
  }
  std::stable_sort(all.begin(), all.end(), [](const Entry* a, const Entry* b) {
    return a->task.start < b->task.start;
  });
  return all;
}

// What a task is, and where in its front.
void RunRecorder::set_place(const AssemblyTree::Node& node, const Entry& entry,
                            RunRecord::Task& task) {
  task.front = node.last_front;
  if (entry.first) {
    task.kind = node.tiled                           ? kOpen
                : node.first_front < node.last_front ? kSubtree
                                                     : kFront;
    return;
  }
  task.kind = kAssemble + static_cast<std::int32_t>(entry.tile.kind);
  task.column = entry.tile.column;
  task.row = entry.tile.row;
  task.source = entry.tile.source;
}

RunRecorder::Order RunRecorder::order_of(const AssemblyTree& tree,
                                         const std::vector<const Entry*>& entries) const {
  std::map<Key, std::int32_t> tiles;
  std::vector<std::int32_t> first(tree.nodes.size(), -1);  // task of each node
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto id = static_cast<std::int32_t>(i);
    const Entry& entry = *entries[i];
    if (entry.first)
      first[entry.task.node] = id;
    else
      tiles[key_of(entry.task.node, entry.tile)] = id;
  }
  Order order;
  order.after.resize(entries.size());
  order.last.resize(tree.nodes.size());
  std::vector<std::int8_t> waited_for(entries.size(), 0);
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = *entries[i];
    if (entry.first) continue;
    const std::int32_t node = entry.task.node;
    std::vector<std::int32_t>& after = order.after[i];
    for (const TileTask& before : predecessors(shapes_.at(node), entry.tile))
      after.push_back(tiles.at(key_of(node, before)));
    if (after.empty()) after.push_back(first[node]);
    for (const std::int32_t before : after) waited_for[before] = 1;
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (waited_for[i] == 0)
      order.last[entries[i]->task.node].push_back(static_cast<std::int32_t>(i));
  return order;
}

RunRecord RunRecorder::record(const AssemblyTree& tree) const {
  RunRecord run;
  run.workers = static_cast<std::int32_t>(workers_.size());
  run.max_workers = tree.max_workers;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TaskId id = task_id(i);
    run.nodes.push_back({tree.tasks.parent(id), tree.tasks.output_size(id),
                         tree.tasks.execution_size(id), tree.tasks.retained_size(id),
                         tree.tasks.work(id)});
  }
  run.kinds.assign(kNames.begin(), kNames.end());
  const std::vector<const Entry*> entries = in_order();
  Order order = order_of(tree, entries);
  run.after_start = {0};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = *entries[i];
    RunRecord::Task& task = run.tasks.emplace_back(entry.task);
    std::vector<std::int32_t>& after = order.after[i];
    set_place(tree.nodes[task.node], entry, task);
    if (entry.first)
      for (const TaskId child :
           tree.tasks.children(task_id(static_cast<std::size_t>(task.node))))
        after.insert(after.end(), order.last[index(child)].begin(),
                     order.last[index(child)].end());
    run.after.insert(run.after.end(), after.begin(), after.end());
    run.after_start.push_back(static_cast<std::int64_t>(run.after.size()));
  }
  run.overhead = median_gap(run);
  return run;
}

}  // namespace espalier::solver
