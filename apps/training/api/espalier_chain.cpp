#include "training/api/espalier_chain.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "espalier/model/c_interface.h"
#include "training/chain/chain_budget.h"
#include "training/chain/chain_schedule.h"
#include "training/chain/submit_task.h"

using namespace espalier;
using namespace espalier::training;

namespace {

thread_local std::string last_error;

int fail(int code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
  return -code;
}

/// memory_bytes is below the least.
class InfeasibleChain : public Error {
 public:
  using Error::Error;
};

template <class T>
T& need_sized(T* pointer, const char* name) {
  if (need(pointer, name).size != sizeof(T))
    throw InvalidInput(fmt::format("{}: size {} is of no version", name, pointer->size));
  return *pointer;
}

// Where 0 has a meaning of its own.
void need_not_negative(std::int64_t value, const std::string& name) {
  if (value < 0) throw InvalidInput(fmt::format("{}: {} is negative", name, value));
}

void need_positive(std::int64_t value, const std::string& name) {
  if (value < 1) throw InvalidInput(fmt::format("{}: {} is not 1 or more", name, value));
}

training::Chain read_chain(const espalier_chain& chain) {
  need_positive(chain.steps, "chain: steps");
  training::Chain read;
  read.steps = chain.steps;
  read.in_place = chain.in_place != 0;
  if (chain.part_bytes == nullptr) {
    need_positive(chain.state_bytes, "chain: state_bytes");
    read.parts = {chain.state_bytes};
    return read;
  }
  need_positive(chain.parts, "chain: parts");
  for (std::int32_t k = 0; k < chain.parts; ++k) {
    need_positive(chain.part_bytes[k], fmt::format("chain: part_bytes[{}]", k));
    read.parts.push_back(chain.part_bytes[k]);
  }
  return read;
}

std::vector<Nanoseconds> read_step_costs(const espalier_chain& chain) {
  std::vector<Nanoseconds> costs;
  if (chain.step_costs == nullptr) return costs;
  costs.assign(chain.step_costs, chain.step_costs + chain.steps);
  for (std::size_t k = 0; k < costs.size(); ++k)
    need_not_negative(costs[k], fmt::format("chain: step_costs[{}]", k));
  return costs;
}

// The user's functions, called at once or in tasks.
class User {
 public:
  User(const espalier_chain_callbacks& user, FirstError& errors)
      : user_(user), errors_(errors) {
    if (user_.start == nullptr || user_.advance == nullptr || user_.backward == nullptr)
      throw InvalidInput("callbacks: start, advance and backward are needed");
    starpu_void_data_register(&adjoint_);
  }
  ~User() { starpu_data_unregister(adjoint_); }
  User(const User&) = delete;
  User& operator=(const User&) = delete;

  ChainCallbacks callbacks() {
    return {
        .start = [this](const StateBuffer& to) { call({.kind = 's'}, nullptr, &to); },
        .advance =
            [this](std::int64_t step, const StateBuffer& from, const StateBuffer& to) {
              call({.kind = 'a', .step = step}, &from, &to);
            },
        .backward =
            [this](std::int64_t step, const StateBuffer& at) {
              call({.kind = 'b', .step = step}, &at, nullptr);
            },
        .stop = {}};
  }
  Bytes state_bytes = 0;

 private:
  struct Call {
    char kind = 0;
    std::int64_t step = 0;
    User* self = nullptr;
    espalier_chain_state from = {}, to = {};
  };

  [[nodiscard]] espalier_chain_state view(const StateBuffer* state) const {
    if (state == nullptr) return {};
    return {state->data, state_bytes, static_cast<std::int32_t>(state->parts.size()),
            state->parts.data()};
  }

  void call(Call call, const StateBuffer* from, const StateBuffer* to) {
    static starpu_codelet codelet = make_open_codelet(
        [](void**, void* argument) {
          const Call& mine = *static_cast<const Call*>(argument);
          if (mine.self->errors_.failed()) return;
          try {
            mine.self->run(mine);
          } catch (...) {
            mine.self->errors_.keep(std::current_exception());
          }
        },
        "chain_callback");
    call.self = this;
    call.from = view(from);
    call.to = view(to);
    if (user_.submits != 0) return run(call);
    std::vector<Access> accesses;
    const bool in_place = from != nullptr && to != nullptr && from->data == to->data;
    if (from != nullptr && !in_place)
      for (const auto part : from->parts) accesses.push_back({part, STARPU_R});
    if (to != nullptr)
      for (const auto part : to->parts)
        accesses.push_back({part, in_place ? STARPU_RW : STARPU_W});
    if (call.kind == 'b') accesses.push_back({adjoint_, STARPU_RW});
    submit_task(codelet, accesses, call);
  }

  void run(const Call& call) {
    int status = 0;
    if (call.kind == 's') status = user_.start(user_.user, &call.to);
    if (call.kind == 'a')
      status = user_.advance(user_.user, call.step, &call.from, &call.to);
    if (call.kind == 'b') status = user_.backward(user_.user, call.step, &call.from);
    if (status != 0)
      throw Cancelled(fmt::format("{} returns {} in step {}",
                                  call.kind == 's'   ? "start"
                                  : call.kind == 'a' ? "advance"
                                                     : "backward",
                                  status, call.step));
  }

  const espalier_chain_callbacks& user_;
  FirstError& errors_;
  starpu_data_handle_t adjoint_ = nullptr;  // backward steps come one after the other
};

ChainLimits read_limits(const training::Chain& chain,
                        const espalier_chain_limits& limits) {
  need_not_negative(limits.memory_slots, "limits: memory_slots");
  need_not_negative(limits.memory_bytes, "limits: memory_bytes");
  need_not_negative(limits.disk_slots, "limits: disk_slots");
  need_not_negative(limits.window, "limits: window");
  ChainLimits read{.memory_slots = limits.memory_slots};
  if (limits.window > 0) read.window = limits.window;
  if (limits.directory != nullptr) {
    const std::int64_t useful = useful_slots(chain);
    read.directory = limits.directory;
    read.disk_slots =
        limits.disk_slots > 0 ? std::min(limits.disk_slots, useful) : useful;
  } else if (limits.disk_slots != 0) {
    throw InvalidInput("limits: disk_slots without a directory");
  }
  if (limits.memory_slots > 0) {
    read.memory_slots = std::min(limits.memory_slots, useful_slots(chain));
    return read;
  }
  ChainBudget budget;
  budget.chain = chain;
  ChainWish wish{.memory_slots = {}, .disk_slots = {}, .directory = read.directory};
  if (read.disk_slots > 0) wish.disk_slots = read.disk_slots;
  auto fitted = fit_slots(budget, wish, limits.memory_bytes);
  if (!fitted)
    throw InfeasibleChain(fmt::format("limits: memory_bytes {}: at least {} are needed",
                                      limits.memory_bytes,
                                      fitted.error().lower_bound_bytes));
  fitted->window = read.window;
  return *fitted;
}

void run(const espalier_chain& chain, const espalier_chain_callbacks& callbacks,
         const espalier_chain_limits& limits, espalier_chain_report* report) {
  const training::Chain read = read_chain(chain);
  const ChainLimits slots = read_limits(read, limits);
  ScheduleCosts costs{.disk_write = limits.disk_write, .disk_read = limits.disk_read};
  costs.steps = read_step_costs(chain);
  const CheckpointSchedule schedule = make_schedule(read, slots, costs);
  if (report != nullptr) {
    report->planned_steps = schedule.advances;
    report->memory_slots = slots.memory_slots;
    report->memory_bytes = memory_of(read, slots);
    report->disk_bytes = checked_mul(slots.disk_slots, read.state_bytes());
  }
  FirstError errors;
  User user(callbacks, errors);
  user.state_bytes = read.state_bytes();
  const ChainReport done =
      run_chain(read, *schedule.actions(), user.callbacks(), slots, errors);
  if (report == nullptr) return;
  report->executed_steps = done.advances;
  report->bytes_written = done.bytes_written;
  report->bytes_read = done.bytes_read;
  report->seconds = done.seconds;
}

}  // namespace

const char* espalier_chain_last_error(void) { return last_error.c_str(); }

int espalier_chain_run(const espalier_chain* chain,
                       const espalier_chain_callbacks* callbacks,
                       const espalier_chain_limits* limits,
                       espalier_chain_report* report) {
  return guarded(
      [&] {
        try {
          if (report != nullptr) need_sized(report, "report");
          const espalier_chain& what = need_sized(chain, "chain");
          const espalier_chain_callbacks& user = need_sized(callbacks, "callbacks");
          const espalier_chain_limits& where = need_sized(limits, "limits");
          if (starpu_is_initialized() == 0)
            throw InvalidInput("StarPU does not run: starpu_init() comes first");
          run(what, user, where, report);
        } catch (const InfeasibleChain& infeasible) {
          return fail(ENOMEM, infeasible.what());
        }
        return 0;
      },
      fail);
}
