#include "policy/core/job.h"

#include <map>
#include <utility>

namespace espalier::policy {

namespace {

WorkerSet worker_set(const WorkerRange& range, std::int32_t plan_workers,
                     std::span<const int> context_workers) {
  const auto count = static_cast<std::int64_t>(context_workers.size());
  const std::int64_t first = range.first * count / plan_workers;
  const std::int64_t last =
      ((range.first + std::int64_t{range.count}) * count + plan_workers - 1) /
      plan_workers;
  WorkerSet set;
  for (std::int64_t rank = first; rank < std::min(last, count); ++rank)
    set.set(static_cast<std::size_t>(context_workers[static_cast<std::size_t>(rank)]));
  return set;
}

WorkerSet first_workers(std::size_t count) {
  WorkerSet set;
  for (std::size_t worker = 0; worker < count; ++worker) set.set(worker);
  return set;
}

}  // namespace

Job::Job(std::shared_ptr<const Plan> plan, std::span<const int> context_workers,
         std::size_t all_workers, Placement& placement, std::optional<Bytes> bound)
    : gate_(std::move(plan), bound),
      tallies_(all_workers),
      workers_(static_cast<std::int32_t>(context_workers.size())) {
  const Plan& p = gate_.plan();
  const WorkerSet able = first_workers(all_workers);
  std::map<std::pair<std::int32_t, std::int32_t>, Placement::Queue*> queues;
  destinations_.reserve(p.tree->size());
  for (std::size_t i = 0; i < p.tree->size(); ++i) {
    const WorkerRange& range = p.mapping[i];
    Placement::Queue*& queue = queues[{range.first, range.count}];
    if (queue == nullptr)
      queue = &placement.queue(worker_set(range, p.workers, context_workers), able);
    destinations_.push_back({queue, path_rank(p.priority[i])});
  }
}

// Sequence counts without fences: the fields are stored with release after the odd count
// and loaded with acquire before the count is read again.
void JobTable::write(Slot& slot, Job* job) {
  const std::uint32_t sequence = slot.sequence.load();
  slot.sequence.store(sequence + 1);
  const auto nodes = job != nullptr ? job->gate().nodes() : std::span<TreeGate::Node>();
  slot.begin.store(reinterpret_cast<std::uintptr_t>(nodes.data()));
  slot.end.store(reinterpret_cast<std::uintptr_t>(nodes.data() + nodes.size()));
  slot.job.store(job);
  slot.sequence.store(sequence + 2);
}

bool JobTable::attach(Job& job) {
  const std::scoped_lock lock(writers_);
  for (std::size_t i = 0; i < kCapacity; ++i) {
    if (slots_[i].job.load() != nullptr) continue;
    write(slots_[i], &job);
    if (i == used_) used_ = i + 1;
    return true;
  }
  return false;
}

void JobTable::detach(const Job& job) {
  const std::scoped_lock lock(writers_);
  for (Slot& slot : slots_)
    if (slot.job.load() == &job) write(slot, nullptr);
}

Job* JobTable::find(const void* token) const {
  const auto address = reinterpret_cast<std::uintptr_t>(token);
  if (address == 0) return nullptr;
  const std::size_t used = used_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < used; ++i) {
    const Slot& slot = slots_[i];
    std::uint32_t sequence;
    std::uintptr_t begin, end;
    Job* job;
    do {
      sequence = slot.sequence.load(std::memory_order_acquire);
      begin = slot.begin.load(std::memory_order_acquire);
      end = slot.end.load(std::memory_order_acquire);
      job = slot.job.load(std::memory_order_acquire);
    } while ((sequence & 1) != 0 || sequence != slot.sequence.load());
    if (address >= begin && address < end) return job;
  }
  return nullptr;
}

}  // namespace espalier::policy
