#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "espalier/checkpoint/espalier_checkpoint.h"
#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/online_checkpoints.h"
#include "espalier/model/c_interface.h"

struct espalier_checkpoint {
  std::optional<espalier::CheckpointSchedule> schedule;  // none: online
  std::unique_ptr<espalier::ActionStream> actions;
  espalier::OnlineSweep* sweep = nullptr;  // the same, when it is online
};

namespace {

thread_local std::string last_error;

int keep(int code, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {
    last_error.clear();
  }
  return -code;
}

int planned(espalier::ExpectedSlots<espalier::CheckpointSchedule> plan,
            espalier_checkpoint** result) {
  if (!plan) return keep(ENOSPC, plan.error().message().c_str());
  auto made = std::make_unique<espalier_checkpoint>();
  made->schedule = std::move(*plan);
  made->actions = made->schedule->actions();
  *result = made.release();
  return 0;
}

}  // namespace

const char* espalier_checkpoint_error() { return last_error.c_str(); }

int espalier_checkpoint_revolve(int64_t steps, int64_t slots,
                                espalier_checkpoint** schedule) {
  return espalier::guarded(
      [&] {
        return planned(espalier::plan_checkpoints(steps, {{"memory", slots}}, {}),
                       &espalier::need(schedule, "schedule"));
      },
      keep);
}

int espalier_checkpoint_levels(int64_t steps, const espalier_checkpoint_level* levels,
                               size_t count, int64_t step_ns, int64_t backward_ns,
                               espalier_checkpoint** schedule) {
  return espalier::guarded(
      [&] {
        (void)espalier::need(levels, "levels");
        std::vector<espalier::CheckpointLevel> list;
        for (std::size_t k = 0; k < count; ++k) {
          list.push_back({std::to_string(k), levels[k].slots, levels[k].write_ns,
                          levels[k].read_ns});
        }
        espalier::StepCosts costs;
        costs.forward = step_ns;
        costs.backward = backward_ns;
        return planned(espalier::plan_checkpoints(steps, list, costs),
                       &espalier::need(schedule, "schedule"));
      },
      keep);
}

int espalier_checkpoint_online(int64_t slots, espalier_checkpoint** schedule) {
  return espalier::guarded(
      [&] {
        (void)espalier::need(schedule, "schedule");
        auto made = std::make_unique<espalier_checkpoint>();
        auto sweep = std::make_unique<espalier::OnlineRevolve>(slots);
        made->sweep = sweep.get();
        made->actions = std::move(sweep);
        *schedule = made.release();
        return 0;
      },
      keep);
}

int espalier_checkpoint_finish(espalier_checkpoint* schedule) {
  return espalier::guarded(
      [&] {
        espalier::OnlineSweep* sweep = espalier::need(schedule, "schedule").sweep;
        if (sweep == nullptr)
          throw espalier::InvalidInput("the length of the schedule is known");
        sweep->finish();
        return 0;
      },
      keep);
}

int espalier_checkpoint_next(espalier_checkpoint* schedule, int* action, int64_t* step,
                             int32_t* level, int64_t* slot) {
  return espalier::guarded(
      [&] {
        using espalier::need;
        // Before an action is taken, which would be lost.
        espalier::ActionStream& actions = *need(schedule, "schedule").actions;
        int& to_action = need(action, "action");
        int64_t &to_step = need(step, "step"), &to_slot = need(slot, "slot");
        int32_t& to_level = need(level, "level");
        const auto next = actions.next();
        if (!next) return 0;
        const bool forward = next->kind == espalier::ActionKind::kForward;
        const espalier::Place& place = forward ? next->target : next->source;
        to_action = static_cast<int>(next->kind);
        to_step = forward ? next->last : next->first;
        to_level = place.level;
        to_slot = place.slot;
        return 1;
      },
      keep);
}

int espalier_checkpoint_cost(const espalier_checkpoint* schedule, int64_t* advances,
                             int64_t* cost_ns) {
  return espalier::guarded(
      [&] {
        const auto& plan = espalier::need(schedule, "schedule").schedule;
        if (!plan) throw espalier::InvalidInput("an online schedule has no cost yet");
        int64_t& to_cost = espalier::need(cost_ns, "cost_ns");
        espalier::need(advances, "advances") = plan->advances;
        to_cost = plan->cost;
        return 0;
      },
      keep);
}

void espalier_checkpoint_free(espalier_checkpoint* schedule) { delete schedule; }
