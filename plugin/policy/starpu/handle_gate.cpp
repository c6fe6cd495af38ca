// The way of a task through the gate. What happens when nothing goes on is in
// handle_gate_stall.cpp; blocks are in handle_gate_blocks.cpp.

#include "policy/starpu/handle_gate.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "espalier/model/error.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/handles.h"

namespace espalier::policy {

namespace {

// Buffers that are filled again for every task, in the thread that submits or executes.
thread_local std::vector<DataAccess> data_of_task;

// The task that this thread's worker runs. Addresses of tasks are used again: `next` is
// the number that none submitted until it started has.
struct Running {
  const starpu_task* task = nullptr;
  SubmissionGate::Op op = SubmissionGate::Op::kNone;  // if data were allocated for it
  std::uint64_t next = 0;
};
thread_local Running running;

// Where data are evicted a worker also fetches for others, and such a block may have been
// freed by now: those that hold the task's own data are certain.
void keep_those_at(std::vector<FetchedBlock>& blocks,
                   const std::vector<DataAccess>& places) {
  std::erase_if(blocks, [&](const FetchedBlock& b) {
    return std::none_of(places.begin(), places.end(),
                        [&](const DataAccess& place) { return place.block == b.block; });
  });
}

bool has_data(const starpu_task& task) { return STARPU_TASK_GET_NBUFFERS(&task) > 0; }

// With a disk, what StarPU itself keeps: it counts in MiB.
Bytes bound_of(const Settings& settings) {
  if (!settings.memory) return SubmissionGate::kUnlimited;
  if (settings.on_overflow != Overflow::kDisk) return *settings.memory;
  return std::min<Bytes>(*settings.memory, starpu_memory_get_total(STARPU_MAIN_RAM));
}

// With a limit, StarPU 1.3 keeps the blocks of released data for others. There is no
// telling from blocks what has been freed.
bool frees_are_seen(const Settings& settings) {
  constexpr bool kKeepsBlocks = STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3;
  return !kKeepsBlocks || !settings.memory || settings.on_overflow != Overflow::kDisk;
}

}  // namespace

HandleGate::HandleGate(const Settings& settings, unsigned workers,
                       const Throttle& throttle, Trace* trace)
    : settings_(settings),
      workers_(workers),
      throttle_(throttle),
      trace_(trace),
      measured_(observe_allocation(this, settings.memory.has_value())),
      gate_(bound_of(settings), measured_ && frees_are_seen(settings)) {}

HandleGate::~HandleGate() { observe_allocation(nullptr); }

void HandleGate::submitted(starpu_task& task) {
  end_pending_frees();
  if (const starpu_data_handle_t handle = released_by(task)) {
    const std::scoped_lock lock(mutex_);
    gate_.release(handle);
    gate_.release(copies_of(handle));
    changed();
    if (gate_.holds()) room_ = true;
    return;
  }
  if (task.cl == nullptr || !has_data(task)) return;
  try {
    is_executed(task) ? follow(task) : pass(task);
  } catch (const OverflowError& e) {
    throw BoundBroken(fmt::format("task \"{}\": {}", name_of(task), e.what()));
  }
}

// The task takes its place in the order of submission.
void HandleGate::follow(const starpu_task& task) {
  thread_local std::vector<OwnDatum> own;
  application_data_of(task, own);
  if (!own.empty()) {
    const std::scoped_lock lock(mutex_);
    for (const OwnDatum& d : own) application_data_.add(d.begin, d.extent, d.bytes);
  }
  if (!reduces_ && contributes(task)) reduces_ = true;
  const bool reduction = reduces_ && is_reduction(task);
  std::unique_lock lock = lock_with(data_of_task, [&] {
    data_of(task, workers_, data_of_task);
    if (reduces_) add_copies(task, data_of_task);
  });
  if (data_of_task.empty()) return;
  if (reduction && gate_.provides(data_of_task)) return;
  const SubmissionGate::Op op = gate_.submit(&task, data_of_task);
  application_waits_ = false;
  ++changes_;
  if (op == SubmissionGate::Op::kNone) return;
  next_number_ = gate_.number(op) + 1;
  if (gate_.footprint(op) > gate_.bound()) refuse_too_large(op, task);
}

// Also StarPU's own, in which the pieces of a datum come together.
void HandleGate::pass(starpu_task& task) {
  joins_.follow(task);
  data_of(task, workers_, data_of_task);
  if (reduces_) add_copies(task, data_of_task);
  const std::scoped_lock lock(mutex_);
  gate_.pass(data_of_task);
}

bool HandleGate::ready(starpu_task& task) {
  if (!has_data(task)) return true;
  std::unique_lock lock(mutex_);
  const SubmissionGate::Op op = gate_.find(&task);
  if (op == SubmissionGate::Op::kNone) return true;
  look_for_data(lock, task, op);
  const bool admitted = gate_.ready(op, now());
  changed();
  if (!admitted) watched_.notify_one();
  return admitted;
}

void HandleGate::taken(const starpu_task& task) {
  if (!has_data(task)) return;
  ++taken_;
  fetch_begins();
}

void HandleGate::fetched(const starpu_task& task) {
  running = {&task, SubmissionGate::Op::kNone, next_number_};
  if (is_fetching()) ++fetched_;
  const std::vector<FetchedBlock>& blocks = fetch_ends();
  if (!has_data(task) || (blocks.empty() && !may_spill())) return;
  std::unique_lock lock(mutex_);
  end_own_frees();
  const SubmissionGate::Op op = gate_.find(&task);
  running.op = op;
  // There blocks also pass from datum to datum without having been freed.
  if (gate_.evicts()) {
    thread_local std::vector<FetchedBlock> own;
    own = blocks;
    lock.unlock();
    places_of(task, data_of_task);
    keep_those_at(own, data_of_task);
    lock.lock();
    for (const FetchedBlock& b : own)
      gate_.allocated(b.block, static_cast<Bytes>(b.bytes), true);
    gate_.fetched(op, {}, data_of_task);
    changed();
    return;
  }
  if (blocks.empty()) return;
  for (const FetchedBlock& b : blocks)
    gate_.allocated(b.block, static_cast<Bytes>(b.bytes), true);
  if (!gate_.fetched_alone(op, blocks.front().block, blocks.size())) {
    lock.unlock();
    places_of(task, data_of_task);
    thread_local std::vector<const void*> addresses;
    addresses.clear();
    for (const FetchedBlock& b : blocks) addresses.push_back(b.block);
    lock.lock();
    gate_.fetched(op, addresses, data_of_task);
  }
  changed();
}

Admitted HandleGate::ended(const starpu_task& task) {
  if (!has_data(task)) {
    end_pending_frees();
    return {};
  }
  std::unique_lock lock(mutex_);
  end_own_frees();
  const Running started = std::exchange(running, {});
  const bool known = started.task == &task && started.op != SubmissionGate::Op::kNone;
  const SubmissionGate::Op op = known ? started.op : gate_.find(&task);
  if (!bypassing_.empty()) bypassing_.erase(&task);
  if (op == SubmissionGate::Op::kNone) return {};
  if (gate_.unplaced(op)) {
    // Fetched by another thread, as data on other nodes are.
    lock.unlock();
    places_of(task, data_of_task);
    lock.lock();
    gate_.fetched(op, {}, data_of_task);
  }
  return end(lock, op);
}

Admitted HandleGate::ended_unseen(const starpu_task* task) {
  end_pending_frees();
  const Running started = std::exchange(running, {});
  if (started.task != task) return {};
  std::unique_lock lock(mutex_);
  const SubmissionGate::Op op = gate_.find(task);
  const bool another =
      op != SubmissionGate::Op::kNone && gate_.number(op) >= started.next;
  if (op == SubmissionGate::Op::kNone || another) return {};
  return end(lock, op);
}

Admitted HandleGate::end(std::unique_lock<BriefMutex>& lock, SubmissionGate::Op op) {
  Admitted admitted;
  gate_.end(op);
  if (gate_.holds()) gate_.admit_held(now(), admitted, false);
  changed();
  lock.unlock();
  return admitted;
}

void HandleGate::application_waits() {
  end_pending_frees();
  const std::scoped_lock lock(mutex_);
  application_waits_ = true;
  gate_.program_waits();
}

Admitted HandleGate::admit_held() {
  Admitted admitted;
  const std::scoped_lock lock(mutex_);
  room_ = false;
  gate_.admit_held(now(), admitted, false);
  if (!admitted.empty()) changed();
  return admitted;
}

void HandleGate::changed() {
  ++changes_;
  if (trace_ == nullptr) return;
  const Seconds time = now();
  trace_->memory(time, gate_.booked(),
                 measured_ ? std::optional(gate_.allocated_now()) : std::nullopt);
  trace_->held(time, static_cast<std::int64_t>(gate_.held()));
}

ApplicationData HandleGate::application_data() const {
  const std::scoped_lock lock(mutex_);
  return application_data_;
}

SubmissionGateReport HandleGate::report() const {
  const std::scoped_lock lock(mutex_);
  return gate_.report();
}

}  // namespace espalier::policy
