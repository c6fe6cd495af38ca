// One run of a chain and the tasks that it is made of: over 300 lines.

#include <fmt/format.h>

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "solver/runtime/starpu_tasks.h"
#include "training/chain/chain.h"
#include "training/chain/disk_store.h"
#include "training/chain/slot_level.h"
#include "training/chain/state_buffers.h"
#include "training/chain/submit_task.h"

namespace espalier::training {
namespace {

constexpr std::int32_t kNone = -1;

// How many actions have been submitted and have not ended: the end of each is seen by a
// task that runs nowhere.
class Window {
 public:
  explicit Window(std::int32_t most) : most_(most) {}

  // Returns when there is room, or after a while.
  [[nodiscard]] bool wait_for_room(std::int32_t most) {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, std::chrono::milliseconds(100),
                           [&] { return under_way_ < most; });
  }
  [[nodiscard]] bool wait_for_room() { return wait_for_room(most_); }

  // What was submitted before on these parts is one action.
  void mark(const StateBuffer& buffer, starpu_data_access_mode mode) {
    static starpu_codelet codelet = [] {
      starpu_codelet nowhere = make_open_codelet(nullptr, "chain_action");
      nowhere.where = STARPU_NOWHERE;
      return nowhere;
    }();
    std::vector<Access> accesses;
    for (const starpu_data_handle_t part : buffer.parts) accesses.push_back({part, mode});
    starpu_task* const task = make_task(codelet, accesses);
    task->callback_func = [](void* window) noexcept {
      static_cast<Window*>(window)->end();
    };
    task->callback_arg = this;
    {
      const std::scoped_lock lock(mutex_);
      ++under_way_;
    }
    if (const int status = starpu_task_submit(task); status != 0) {
      end();
      solver::check_submission(status);
    }
  }

 private:
  void end() noexcept {
    const std::scoped_lock lock(mutex_);
    --under_way_;
    ended_.notify_all();
  }

  std::int32_t most_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::int32_t under_way_ = 0;
};

class Run {
 public:
  Run(const Chain& chain, const ChainCallbacks& callbacks, const ChainLimits& limits,
      FirstError& errors)
      : chain_(chain),
        callbacks_(callbacks),
        errors_(errors),
        window_(std::max(2, limits.window / std::max(1, chain.tasks_per_step))),
        slots_(static_cast<std::size_t>(std::min(limits.memory_slots, chain.steps)),
               kNone),
        buffers_(chain, buffers_of(chain, limits)),
        held_(static_cast<std::size_t>(buffers_of(chain, limits)), false) {
    if (limits.remote_slots > 0) {
      remote_.emplace(*limits.remote, chain, errors);
      outer_.push_back({&*remote_, limits.remote_slots, &report_.remote_stores,
                        &report_.remote_restores});
    }
    if (limits.disk_slots > 0) {
      file_.emplace(limits.directory,
                    checked_mul(chain.state_bytes(), limits.disk_slots));
      disk_.emplace(*file_, chain, errors);
      outer_.push_back(
          {&*disk_, limits.disk_slots, &report_.disk_stores, &report_.disk_restores});
    }
  }
  ~Run() { drain(); }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  ChainReport run(ActionStream& schedule) {
    const auto begin = Clock::now();
    working_ = buffers_.take();
    callbacks_.start(buffers_[working_]);
    while (const std::optional<Action> action = schedule.next()) {
      if (!go_on()) break;
      carry_out(*action);
      if (action->kind == ActionKind::kEndReverse) break;
    }
    drain();
    report_.seconds = since(begin);
    errors_.rethrow();
    if (file_) {
      report_.bytes_written = file_->counters().bytes_written;
      report_.bytes_read = file_->counters().bytes_read;
    }
    return report_;
  }

 private:
  // Waits until there is room for another action. @return whether it is still wanted
  bool go_on() {
    while (!errors_.failed() && !report_.stopped) {
      if (callbacks_.stop && callbacks_.stop(report_.advances)) report_.stopped = true;
      if (window_.wait_for_room()) break;
    }
    return !errors_.failed() && !report_.stopped;
  }

  void drain() {
    while (!window_.wait_for_room(1)) {
    }
    for (const Outer& level : outer_) level.states->wait();
  }

  void carry_out(const Action& action) {
    switch (action.kind) {
      case ActionKind::kForward:
        if (action.keeps_tape) throw InvalidInput("a chain is run without tapes");
        if (action.target.is_slot()) store(action.target);
        for (std::int64_t step = action.first; step < action.last && go_on(); ++step)
          advance(step);
        break;
      case ActionKind::kCopy:
      case ActionKind::kMove:
        restore(action.source, action.kind == ActionKind::kMove);
        break;
      case ActionKind::kReverse:
        callbacks_.backward(action.first, buffers_[working_]);
        // All that reads the state comes before what could change it.
        window_.mark(buffers_[working_], STARPU_RW);
        ++report_.reverses;
        break;
      case ActionKind::kEndForward:
      case ActionKind::kEndReverse:
        break;
    }
  }

  // A level outside the memory of this process, and where its transfers are counted.
  struct Outer {
    SlotLevel* states;
    std::int64_t slots;
    std::int64_t *stores, *restores;
  };
  // The level of a place, null: memory. A level that has no slots is none.
  [[nodiscard]] const Outer* outer(const Place& place) const {
    const std::int32_t level = place.level - (slots_.empty() ? 0 : 1);
    if (level < 0 || level >= std::ssize(outer_)) return nullptr;
    const Outer& found = outer_[static_cast<std::size_t>(level)];
    return place.slot >= 0 && place.slot < found.slots ? &found : nullptr;
  }
  std::int32_t& slot(const Place& place) {
    if (place.level != 0 || place.slot < 0 || place.slot >= std::ssize(slots_))
      throw InvalidInput(
          fmt::format("the schedule uses slot {} of level {}: there is none", place.slot,
                      place.level));
    return slots_[static_cast<std::size_t>(place.slot)];
  }

  // In memory the state stays where it is, and the next goes into another buffer.
  void store(const Place& target) {
    if (const Outer* const level = outer(target)) {
      level->states->store(target.slot, buffers_[working_]);
      being_written_ = true;
      ++*level->stores;
      return;
    }
    std::int32_t& place = slot(target);
    if (place != kNone) {  // what is there is given up
      held_[static_cast<std::size_t>(place)] = false;
      buffers_.give(place);
    }
    place = working_;
    held_[static_cast<std::size_t>(working_)] = true;
    ++report_.stores;
  }

  void advance(std::int64_t step) {
    const std::int32_t from = working_;
    const bool held = held_[static_cast<std::size_t>(from)];
    // While a state is written the next is better computed elsewhere.
    const bool elsewhere =
        held || !chain_.in_place || (being_written_ && buffers_.any_free());
    if (elsewhere) working_ = take();
    callbacks_.advance(step, buffers_[from], buffers_[working_]);
    window_.mark(buffers_[working_], STARPU_R);
    being_written_ = false;
    if (elsewhere && !held) buffers_.give(from);
    ++report_.advances;
  }

  void restore(const Place& source, bool last) {
    leave_working();
    if (const Outer* const level = outer(source)) {
      working_ = take();
      level->states->load(source.slot, buffers_[working_]);
      window_.mark(buffers_[working_], STARPU_R);
      ++*level->restores;
      return;
    }
    std::int32_t& stored = slot(source);
    if (stored == kNone)
      throw InvalidInput(
          fmt::format("the schedule reads slot {}: nothing is there", source.slot));
    working_ = stored;
    if (!last) return;
    held_[static_cast<std::size_t>(stored)] = false;
    stored = kNone;
  }

  void leave_working() {
    being_written_ = false;
    if (!held_[static_cast<std::size_t>(working_)]) buffers_.give(working_);
  }

  std::int32_t take() {
    const std::int32_t buffer = buffers_.take();
    if (buffer == kNone) throw InvalidInput("the schedule holds more states than slots");
    return buffer;
  }

  const Chain& chain_;
  const ChainCallbacks& callbacks_;
  FirstError& errors_;
  Window window_;
  std::vector<std::int32_t> slots_;  // the buffer in each slot in memory
  StateBuffers buffers_;
  std::vector<bool> held_;  // by buffer: a slot holds it
  std::optional<DiskStore> file_;
  std::optional<SlotLevel> remote_, disk_;
  std::vector<Outer> outer_;  // those that have slots, nearest first
  std::int32_t working_ = kNone;
  bool being_written_ = false;  // the working state, perhaps
  ChainReport report_;
};

void check(const Chain& chain, const ChainLimits& limits) {
  if (chain.steps < 1)
    throw InvalidInput(fmt::format("a chain of {} steps", chain.steps));
  if (chain.parts.empty()) throw InvalidInput("a chain whose states have no parts");
  for (const Bytes part : chain.parts)
    if (part < 1) throw InvalidInput(fmt::format("a part of a state of {} bytes", part));
  if (limits.memory_slots < 0 || limits.disk_slots < 0 || limits.remote_slots < 0)
    throw InvalidInput(fmt::format("{} slots in memory, {} remote, {} on disk",
                                   limits.memory_slots, limits.remote_slots,
                                   limits.disk_slots));
  if (limits.remote_slots > 0 && limits.remote == nullptr)
    throw InvalidInput(
        fmt::format("{} remote slots without a store for them", limits.remote_slots));
}

}  // namespace

Bytes Chain::state_bytes() const {
  Bytes sum = 0;
  for (const Bytes part : parts) sum = checked_add(sum, part);
  return sum;
}

std::int64_t buffers_of(const Chain& chain, const ChainLimits& limits) {
  // No chain has more states to store than steps.
  return std::min(limits.memory_slots, chain.steps) + (chain.in_place ? 1 : 2) +
         (limits.outer_slots() > 0 && limits.overlap ? 1 : 0);
}

Bytes memory_of(const Chain& chain, const ChainLimits& limits) {
  const Bytes each = checked_add(solver::PageBuffer::footprint(chain.state_bytes()),
                                 checked_mul(handle_bytes(), std::ssize(chain.parts)));
  return checked_mul(each, buffers_of(chain, limits));
}

ChainReport run_chain(const Chain& chain, ActionStream& schedule,
                      const ChainCallbacks& callbacks, const ChainLimits& limits,
                      FirstError& errors) {
  check(chain, limits);
  return Run(chain, callbacks, limits, errors).run(schedule);
}

}  // namespace espalier::training
