#include "policy/placement.h"

#include <algorithm>
#include <bit>

#include "espalier/model/error.h"

namespace espalier::policy {

std::uint32_t path_rank(double weight) {
  ESPALIER_ASSERT(weight >= 0, "a path has no negative weight");
  // The bits of non-negative floats are ordered as the floats are.
  return std::bit_cast<std::uint32_t>(static_cast<float>(weight)) + 1;
}

class Placement::Queue {
 public:
  Queue(const WorkerSet& preferred, const WorkerSet& able)
      : preferred_(preferred), able_(able) {}

  [[nodiscard]] const WorkerSet& preferred() const { return preferred_; }
  [[nodiscard]] const WorkerSet& able() const { return able_; }

  /// Rank of the first task, 0 when empty. A hint: another worker may take it first.
  [[nodiscard]] Rank top() const { return top_.load(); }

  void push(Rank rank, void* task) {
    const std::scoped_lock lock(mutex_);
    heap_.push_back({rank, next_sequence_++, task});
    std::push_heap(heap_.begin(), heap_.end());
    top_.store(heap_.front().rank);
  }

  /// nullptr when empty.
  void* pop() {
    const std::scoped_lock lock(mutex_);
    if (heap_.empty()) return nullptr;
    std::pop_heap(heap_.begin(), heap_.end());
    void* const task = heap_.back().task;
    heap_.pop_back();
    top_.store(heap_.empty() ? 0 : heap_.front().rank);
    return task;
  }

 private:
  struct Entry {
    Rank rank;
    std::uint64_t sequence;
    void* task;
    bool operator<(const Entry& other) const {
      return rank != other.rank ? rank < other.rank : sequence > other.sequence;
    }
  };

  const WorkerSet preferred_, able_;
  alignas(64) std::atomic<Rank> top_ = 0;
  std::mutex mutex_;  // guards what follows
  std::vector<Entry> heap_;
  std::uint64_t next_sequence_ = 0;
};

Placement::Placement(std::size_t workers) : views_(workers) {}
Placement::~Placement() = default;

const WorkerSet& Placement::preferred(const Queue& queue) { return queue.preferred(); }
const WorkerSet& Placement::able(const Queue& queue) { return queue.able(); }

Placement::Queue& Placement::queue(const WorkerSet& preferred, const WorkerSet& able) {
  const auto find = [&]() -> Queue* {
    for (const auto& queue : queues_)
      if (queue->preferred() == preferred && queue->able() == able) return queue.get();
    return nullptr;
  };
  {
    const std::shared_lock lock(registry_);
    if (Queue* const found = find()) return *found;
  }
  const std::scoped_lock lock(registry_);
  if (Queue* const found = find()) return *found;
  queues_.push_back(std::make_unique<Queue>(preferred, able));
  queue_count_.store(queues_.size());
  return *queues_.back();
}

// Blocking drivers rest on the order here: a pusher makes the task visible (top_) and
// then looks for workers that wait; a worker says that it waits and then looks for tasks.
// All four accesses are sequentially consistent, so one of the two sees the other.
void Placement::push(Queue& queue, Rank rank, void* task) {
  queued_.fetch_add(1);
  queue.push(rank, task);
}

Placement::Popped Placement::pop(std::size_t worker) {
  if (queued_.load() == 0) return {};
  View& view = views_[worker];
  if (view.seen != queue_count_.load()) refresh(view, worker);
  if (void* const task = take_best(view.own)) return {task, false};
  if (void* const task = take_best(view.others)) return {task, true};
  return {};
}

void Placement::refresh(View& view, std::size_t worker) {
  const std::shared_lock lock(registry_);
  for (; view.seen < queues_.size(); ++view.seen) {
    Queue& queue = *queues_[view.seen];
    if (!queue.able()[worker]) continue;
    (queue.preferred()[worker] ? view.own : view.others).push_back(&queue);
  }
}

void* Placement::take_best(const std::vector<Queue*>& queues) {
  for (;;) {
    Queue* best = nullptr;
    Rank best_rank = 0;
    for (Queue* const queue : queues) {
      const Rank rank = queue->top();
      if (rank > best_rank) {
        best = queue;
        best_rank = rank;
      }
    }
    if (best == nullptr) return nullptr;
    if (void* const task = best->pop()) {
      queued_.fetch_sub(1);
      return task;
    }
  }
}

}  // namespace espalier::policy
