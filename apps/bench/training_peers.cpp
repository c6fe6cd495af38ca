#include "training_peers.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

namespace espalier::bench {
namespace {

// Memory after a task has run less memory before.
class Changes {
 public:
  explicit Changes(const TaskGraph& graph) : graph_(graph), left_(graph.data()) {
    for (std::size_t d = 0; d < graph.data(); ++d)
      left_[d] = graph.consumers(datum_id(d)).size();
  }
  [[nodiscard]] Bytes change(TaskId task) const {
    Bytes bytes = 0;
    for (const DatumId output : graph_.outputs(task)) {
      if (graph_.stays(output) || left_[index(output)] > 0) bytes += graph_.size(output);
    }
    for (const DatumId input : graph_.inputs(task)) {
      if (!graph_.stays(input) && left_[index(input)] == 1) bytes -= graph_.size(input);
    }
    return bytes;
  }
  void run(TaskId task) {
    for (const DatumId input : graph_.inputs(task)) --left_[index(input)];
  }

 private:
  const TaskGraph& graph_;
  std::vector<std::size_t> left_;
};

// A growing arena with a list of holes.
class CachingAllocator {
 public:
  Bytes take(Bytes size) {
    auto best = free_.end();
    for (auto block = free_.begin(); block != free_.end(); ++block) {
      if (length(block) >= size && (best == free_.end() || length(block) < length(best)))
        best = block;
    }
    if (best == free_.end()) {
      top_ += size;
      return top_ - size;
    }
    const auto [from, to] = *best;
    free_.erase(best);
    if (from + size < to) free_[from + size] = to;
    return from;
  }

  void give_back(Bytes from, Bytes size) {
    Bytes to = from + size;
    if (from == to) return;
    auto next = free_.lower_bound(from);
    if (next != free_.end() && next->first == to) {
      to = next->second;
      next = free_.erase(next);
    }
    if (next != free_.begin() && std::prev(next)->second == from) {
      std::prev(next)->second = to;
    } else {
      free_[from] = to;
    }
  }

  [[nodiscard]] Bytes top() const { return top_; }

 private:
  using Blocks = std::map<Bytes, Bytes>;  // from, to
  static Bytes length(Blocks::iterator block) { return block->second - block->first; }

  Blocks free_;
  Bytes top_ = 0;
};

}  // namespace

std::vector<TaskId> least_memory_order(const TaskGraph& graph) {
  Changes changes(graph);
  std::vector<std::size_t> waits(graph.size());
  std::set<TaskId> ready;
  for (std::size_t i = 0; i < graph.size(); ++i) {
    for (const DatumId input : graph.inputs(task_id(i)))
      waits[i] += graph.producer(input).has_value() ? 1 : 0;
    if (waits[i] == 0) ready.insert(task_id(i));
  }
  std::vector<TaskId> order;
  while (!ready.empty()) {
    TaskId best = *ready.begin();
    Bytes least = std::numeric_limits<Bytes>::max();
    for (const TaskId task : ready) {
      const Bytes change = changes.change(task);
      if (change < least) best = task, least = change;
    }
    ready.erase(best);
    changes.run(best);
    order.push_back(best);
    for (const DatumId output : graph.outputs(best)) {
      for (const TaskId reader : graph.consumers(output)) {
        if (--waits[index(reader)] == 0) ready.insert(reader);
      }
    }
  }
  return order;
}

Bytes longest_lived_best_fit(const BufferSet& buffers) {
  std::vector<std::size_t> order(buffers.size());
  std::iota(order.begin(), order.end(), 0);
  const auto key = [&](std::size_t i) {
    const Buffer& buffer = buffers[buffer_id(i)];
    return std::pair(buffer.lower - buffer.upper, -buffer.size);
  };
  std::ranges::stable_sort(order, {}, key);
  std::vector<Bytes> offset(buffers.size());
  Bytes top = 0;
  std::vector<std::size_t> placed;
  for (const std::size_t i : order) {
    const Buffer& buffer = buffers[buffer_id(i)];
    std::vector<std::pair<Bytes, Bytes>> taken;
    for (const std::size_t j : placed) {
      if (meet(buffer, buffers[buffer_id(j)]))
        taken.emplace_back(offset[j], offset[j] + buffers[buffer_id(j)].size);
    }
    std::ranges::sort(taken);
    Bytes end = 0, tightest = std::numeric_limits<Bytes>::max();
    std::optional<Bytes> at;
    for (const auto& [from, to] : taken) {
      const Bytes gap = from - end;
      if (gap >= buffer.size && gap < tightest) at = end, tightest = gap;
      end = std::max(end, to);
    }
    offset[i] = at.value_or(end);
    top = std::max(top, offset[i] + buffer.size);
    placed.push_back(i);
  }
  return top;
}

Bytes caching_best_fit(const BufferSet& buffers) {
  constexpr Bytes kGrain = 512;
  struct Event {
    std::int64_t time;
    bool starts;
    std::size_t buffer;
  };
  std::vector<Event> events;
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    events.push_back({buffers[buffer_id(i)].lower, true, i});
    events.push_back({buffers[buffer_id(i)].upper, false, i});
  }
  std::ranges::stable_sort(events, {}, [](const Event& event) {
    return std::pair(event.time, event.starts);  // frees first
  });
  CachingAllocator allocator;
  std::vector<Bytes> offset(buffers.size());
  for (const Event& event : events) {
    const Bytes size =
        (buffers[buffer_id(event.buffer)].size + kGrain - 1) / kGrain * kGrain;
    if (event.starts) {
      offset[event.buffer] = allocator.take(size);
    } else {
      allocator.give_back(offset[event.buffer], size);
    }
  }
  return allocator.top();
}

}  // namespace espalier::bench
