#include "policy/core/placement.h"

#include <algorithm>
#include <bit>
#include <deque>

#include "espalier/model/error.h"
#include "policy/core/brief_mutex.h"

namespace espalier::policy {

std::uint32_t path_rank(double weight) {
  ESPALIER_ASSERT(weight >= 0, "a path has no negative weight");
  // The bits of non-negative floats are ordered as the floats are.
  return std::bit_cast<std::uint32_t>(static_cast<float>(weight)) + 1;
}

namespace {

/// Tasks by falling rank, equal ranks in order of arrival. Those of one rank, which the
/// first to come chooses, are a list beside the heap: most programs know one rank only,
/// and pay O(1) and no more memory than a list takes.
class Entries {
 public:
  void push(Rank rank, void* task) {
    if (list_.empty()) list_rank_ = rank;
    if (rank == list_rank_) {
      list_.push_back({next_sequence_++, task});
    } else {
      heap_.push_back({rank, {next_sequence_++, task}});
      std::push_heap(heap_.begin(), heap_.end());
    }
  }

  /// Not when empty.
  void* pop() {
    if (list_is_first()) {
      void* const task = list_.front().task;
      list_.pop_front();
      return task;
    }
    std::pop_heap(heap_.begin(), heap_.end());
    void* const task = heap_.back().item.task;
    heap_.pop_back();
    if (heap_.empty() && heap_.capacity() > kKept) heap_.shrink_to_fit();
    return task;
  }

  /// Rank of the first, 0 when empty.
  [[nodiscard]] Rank top() const {
    if (list_is_first()) return list_rank_;
    return heap_.empty() ? 0 : heap_.front().rank;
  }

 private:
  struct Item {
    std::uint64_t sequence;
    void* task;
  };
  struct Ranked {
    Rank rank;
    Item item;
    bool operator<(const Ranked& other) const {
      return rank != other.rank ? rank < other.rank : item.sequence > other.item.sequence;
    }
  };
  static constexpr std::size_t kKept = 4096;  // entries an empty heap keeps room for

  [[nodiscard]] bool list_is_first() const {
    return !list_.empty() &&
           (heap_.empty() || heap_.front() < Ranked{list_rank_, list_.front()});
  }

  Rank list_rank_ = 0;
  std::deque<Item> list_;
  std::vector<Ranked> heap_;
  std::uint64_t next_sequence_ = 0;
};

}  // namespace

class Placement::Queue {
 public:
  Queue(const WorkerSet& preferred, const WorkerSet& able)
      : preferred_(preferred), able_(able) {}

  [[nodiscard]] const WorkerSet& preferred() const { return preferred_; }
  [[nodiscard]] const WorkerSet& able() const { return able_; }

  /// Rank of the first task, 0 when empty. A hint: another worker may take it first.
  [[nodiscard]] Rank top() const { return top_.load(); }

  /// Adds 1 to `occupied` if the queue was empty.
  void push(Rank rank, void* task, std::atomic<std::int64_t>& occupied) {
    const std::scoped_lock lock(mutex_);
    const Rank top = top_.load(std::memory_order_relaxed);
    if (top == 0) occupied.fetch_add(1);
    entries_.push(rank, task);
    if (rank > top) top_.store(rank);
  }

  /// Takes 1 from `occupied` if the queue is empty then. @return nullptr when empty
  void* pop(std::atomic<std::int64_t>& occupied) {
    const std::scoped_lock lock(mutex_);
    const Rank top = top_.load(std::memory_order_relaxed);
    if (top == 0) return nullptr;
    void* const task = entries_.pop();
    const Rank next = entries_.top();
    if (next != top) top_.store(next);
    if (next == 0) occupied.fetch_sub(1);
    return task;
  }

 private:
  const WorkerSet preferred_, able_;
  alignas(64) std::atomic<Rank> top_ = 0;  // written under the lock
  BriefMutex mutex_;                       // guards what follows
  Entries entries_;
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

// Blocking drivers rest on the order here: a pusher makes the task visible and then looks
// for workers that wait; a worker says that it waits and then looks for tasks. All four
// accesses are sequentially consistent, so one of the two sees the other. A push that
// finds its queue occupied writes neither occupied_ nor, with a rank no higher, top_:
// both have been non-zero since before the queue's lock was last released, and become
// zero only when somebody has taken the task too.
void Placement::push(Queue& queue, Rank rank, void* task) {
  queue.push(rank, task, occupied_);
}

Placement::Popped Placement::pop(std::size_t worker) {
  if (occupied_.load() == 0) return {};
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
    if (void* const task = best->pop(occupied_)) return task;
  }
}

}  // namespace espalier::policy
