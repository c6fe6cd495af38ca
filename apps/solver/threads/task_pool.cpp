#include "solver/threads/task_pool.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <limits>
#include <system_error>
#include <thread>
#include <utility>

#include "espalier/model/clock.h"
#include "espalier/model/processor_time.h"

namespace espalier::solver {
namespace {

// Vertices for each of which a thread is worth its start.
constexpr std::int64_t kOneThread = 1 << 16;

// The recorded task that this thread is in.
thread_local std::optional<std::int64_t> in_task;

// TaskPool::rank()
thread_local int own_rank = 0;

constexpr std::chrono::milliseconds kAskAgain{50};

// For how long an idle thread looks out for a task before it sleeps, and how many do at a
// time: each that sees a change takes the lock.
constexpr Seconds kLookOut = 5e-4;
constexpr std::int32_t kMostLookOut = 4;

// A while of pauses, which leave the processor's core to what shares it; then what else
// waits for the processor has its turn.
void pause_briefly() {
#if defined(__x86_64__)
  for (int k = 0; k < 16; ++k) __builtin_ia32_pause();
#endif
  std::this_thread::yield();
}

// What ends the other tasks of a pool that was interrupted: nobody sees it.
struct Interrupted {};

}  // namespace

struct TaskPool::Loop {
  std::int64_t count;
  const std::function<void(std::int64_t)>& visit;
  std::vector<Seconds> seconds;  // of each block; empty: not recorded
  std::atomic<std::int64_t> next = 0, done = 0;
  std::mutex mutex;
  std::condition_variable ended;
  std::exception_ptr failure;
};

// After a change, under the lock.
void TaskPool::tell_change(bool all) {
  changes_.fetch_add(1, std::memory_order_release);
  if (all)
    changed_.notify_all();
  else
    changed_.notify_one();
}

void TaskPool::add_locked(std::int64_t size, std::int64_t number, Task task) {
  ready_.push_back({size, number, std::move(task)});
  std::push_heap(ready_.begin(), ready_.end());
  tell_change(false);
}

void TaskPool::add(std::int64_t size, Task task) {
  const std::scoped_lock lock(mutex_);
  const std::int64_t number = record_ ? std::ssize(*record_) : 0;
  if (record_) record_->push_back({.parent = in_task, .size = size});
  add_locked(size, number, std::move(task));
}

// The first one.
void TaskPool::keep(std::exception_ptr failure) {
  const std::scoped_lock lock(mutex_);
  if (failure && !failure_) failure_ = std::move(failure);
}

void TaskPool::rethrow() {
  interrupted_ = false;
  if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
}

void TaskPool::ask() {
  if (!asks()) return;
  if (interrupted_) throw Interrupted();
  if (std::this_thread::get_id() != caller_) return;
  try {
    (*interrupt_)();
  } catch (...) {
    keep(std::current_exception());
    interrupted_ = true;
    throw;
  }
}

void TaskPool::run_entry(Entry&& entry) {
  const bool recorded = record_ && entry.number >= 0;
  const auto before = in_task;
  if (recorded) in_task = entry.number;
  const Seconds start = recorded ? thread_seconds() : 0;
  std::exception_ptr failure;
  try {
    ask();
    entry.task();
  } catch (...) {
    failure = std::current_exception();
  }
  entry.task = nullptr;
  in_task = before;
  keep(std::move(failure));
  if (!recorded) return;
  const std::scoped_lock lock(mutex_);
  (*record_)[entry.number].alone += thread_seconds() - start;
}

// Tasks of small fronts are microseconds. A thread that sleeps is woken later than that:
// by a system that puts it on the processor of the thread that wakes it, for up to a
// slice of time, or by a host that has given the idle processor away.
void TaskPool::look_out(std::unique_lock<std::mutex>& lock) {
  if (looking_out_ == kMostLookOut) return;
  ++looking_out_;
  const Clock::time_point start = Clock::now();
  while (is_idle() && since(start) < kLookOut) {
    const std::int64_t seen = changes_;
    lock.unlock();
    while (changes_.load(std::memory_order_acquire) == seen && since(start) < kLookOut)
      pause_briefly();
    lock.lock();
  }
  --looking_out_;
}

// Until there are any, or nothing runs that might add some.
void TaskPool::wait_for_entries(std::unique_lock<std::mutex>& lock) {
  look_out(lock);
  const auto ended = [this] { return !is_idle(); };
  if (!asks() || std::this_thread::get_id() != caller_) return changed_.wait(lock, ended);
  while (!changed_.wait_for(lock, kAskAgain, ended)) {
    lock.unlock();
    try {
      ask();
    } catch (...) {
      // It is kept: what runs is waited for.
    }
    lock.lock();
  }
}

void TaskPool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    wait_for_entries(lock);
    if (ready_.empty()) break;
    std::pop_heap(ready_.begin(), ready_.end());
    Entry entry = std::move(ready_.back());
    ready_.pop_back();
    if (failure_) continue;
    ++running_;
    lock.unlock();
    run_entry(std::move(entry));
    lock.lock();
    --running_;
  }
  tell_change(true);
}

int TaskPool::rank() { return own_rank; }

// As many as the system allows: those that have started will do.
void TaskPool::start_threads(std::vector<std::jthread>& threads) {
  try {
    for (std::int32_t k = 1; k < workers_; ++k)
      threads.emplace_back([this, k] {
        own_rank = k;
        work();
      });
  } catch (const std::system_error&) {
    // What there is to do is done by fewer.
  }
}

void TaskPool::run() {
  caller_ = std::this_thread::get_id();
  const int before = std::exchange(own_rank, 0);
  {
    std::vector<std::jthread> threads;
    start_threads(threads);
    work();
  }
  own_rank = before;
  rethrow();
}

void TaskPool::run_here(std::int64_t size, Task task) {
  caller_ = std::this_thread::get_id();
  const std::int64_t number = record_ ? std::ssize(*record_) : 0;
  if (record_) record_->push_back({.parent = {}, .size = size});
  if (!shares()) {
    run_entry({size, number, std::move(task)});
    return rethrow();
  }
  running_ = 1;
  {
    std::vector<std::jthread> threads;
    start_threads(threads);
    run_entry({size, number, std::move(task)});
    {
      const std::scoped_lock lock(mutex_);
      --running_;
      tell_change(true);
    }
  }
  rethrow();
}

void TaskPool::take_blocks(Loop& loop) {
  for (std::int64_t k; (k = loop.next.fetch_add(1)) < loop.count;) {
    const bool recorded = !loop.seconds.empty();
    const Seconds start = recorded ? thread_seconds() : 0;
    try {
      ask();
      loop.visit(k);
    } catch (...) {
      const std::scoped_lock lock(loop.mutex);
      if (!loop.failure) loop.failure = std::current_exception();
    }
    if (recorded) loop.seconds[k] = thread_seconds() - start;
    if (loop.done.fetch_add(1) + 1 == loop.count) {
      const std::scoped_lock lock(loop.mutex);
      loop.ended.notify_all();
    }
  }
}

void TaskPool::for_each_block(std::int64_t count,
                              const std::function<void(std::int64_t)>& visit) {
  if (count == 1) return visit(0);
  const auto loop = std::make_shared<Loop>(count, visit);
  if (record_) loop->seconds.resize(count);
  const std::int64_t hands = std::min<std::int64_t>(workers_, count) - 1;
  if (hands > 0) {
    const std::scoped_lock lock(mutex_);
    for (std::int64_t k = 0; k < hands; ++k)
      add_locked(std::numeric_limits<std::int64_t>::max(), -1,
                 [this, loop] { take_blocks(*loop); });
  }
  const bool recorded = record_ && in_task;
  const Seconds start = recorded ? thread_seconds() : 0;
  take_blocks(*loop);
  {
    std::unique_lock lock(loop->mutex);
    loop->ended.wait(lock, [&] { return loop->done == loop->count; });
  }
  if (recorded) {
    const Seconds spent = thread_seconds() - start;
    const std::scoped_lock lock(mutex_);
    (*record_)[*in_task].alone -= spent;
    (*record_)[*in_task].loops.push_back(std::move(loop->seconds));
  }
  if (loop->failure) std::rethrow_exception(loop->failure);
}

void record_phase(Threads threads,
                  const std::function<void(std::vector<RecordedTask>*)>& work) {
  if (!threads.record) return work(nullptr);
  RecordedPhase phase;
  const Seconds start = thread_seconds();
  work(&phase.tasks);
  phase.seconds = thread_seconds() - start;
  threads.record->push_back(std::move(phase));
}

void on_pool(Threads threads, std::int64_t size,
             const std::function<void(TaskPool&)>& work) {
  const auto useful = std::min<std::int64_t>(threads.count, 1 + size / kOneThread);
  record_phase(threads, [&](std::vector<RecordedTask>* tasks) {
    TaskPool pool(static_cast<std::int32_t>(useful), tasks, threads.interrupt);
    pool.run_here(size, [&] { work(pool); });
  });
}

}  // namespace espalier::solver
