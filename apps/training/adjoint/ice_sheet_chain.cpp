#include "training/adjoint/ice_sheet_chain.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <utility>

#include "espalier/model/error.h"
#include "training/chain/submit_task.h"

namespace espalier::training {
namespace {

Bytes adjoint_bytes(const IceSheetCase& test) {
  return checked_mul(static_cast<Bytes>(2 * test.cells() + test.corners()),
                     sizeof(double));
}

}  // namespace

std::vector<std::int32_t> sound_ice_sheet(const IceSheetCase& test, IceSheet& sheet,
                                          std::int64_t steps, double tolerance) {
  std::vector<double> h = test.initial;
  std::vector<std::int32_t> turns;
  for (std::int64_t step = 0; step < steps; ++step)
    turns.push_back(sheet.sound(step, tolerance, h, h));
  if (!std::isfinite(sheet.misfit(h)))
    throw Error("the ice sheet's viscosity iteration leaves the range of numbers");
  return turns;
}

struct IceSheetChain::Task {
  enum class Kind { kStart, kAdvance, kBackward };
  Kind kind;
  IceSheetChain* self = nullptr;
  std::int64_t step = 0;
  const double* from = nullptr;
  double* to = nullptr;
};

IceSheetChain::IceSheetChain(const IceSheetCase& test, IceSheet& sheet,
                             std::vector<std::int32_t> turns, FirstError& errors)
    : test_(test),
      errors_(errors),
      turns_(std::move(turns)),
      chain_(chain_of(test, std::ssize(turns_))),
      sheet_(sheet),
      memory_(adjoint_bytes(test)),
      adjoint_(memory_.as<double>(), test.cells()),
      rate_adjoint_(adjoint_.data() + test.cells(), test.corners()),
      last_(rate_adjoint_.data() + test.corners(), test.cells()) {
  starpu_variable_data_register(&working_, STARPU_MAIN_RAM,
                                reinterpret_cast<std::uintptr_t>(adjoint_.data()),
                                adjoint_.size_bytes());
}

IceSheetChain::~IceSheetChain() { starpu_data_unregister(working_); }

Chain IceSheetChain::chain_of(const IceSheetCase& test, std::int64_t steps) {
  return {.steps = steps,
          .parts = {checked_mul(static_cast<Bytes>(test.cells()), sizeof(double))},
          .in_place = true,
          .tasks_per_step = 1};
}

Bytes IceSheetChain::workspace_bytes(const IceSheetCase& test, const IceSheet& sheet) {
  const Bytes adjoint = solver::PageBuffer::footprint(adjoint_bytes(test));
  return checked_add(checked_add(adjoint, sheet.step_bytes()), handle_bytes());
}

ChainCallbacks IceSheetChain::callbacks() {
  return {.start =
              [this](const StateBuffer& to) {
                submit({.kind = Task::Kind::kStart}, to, nullptr);
              },
          .advance =
              [this](std::int64_t step, const StateBuffer& from, const StateBuffer& to) {
                submit({.kind = Task::Kind::kAdvance, .step = step}, from, &to);
              },
          .backward =
              [this](std::int64_t step, const StateBuffer& at) {
                submit({.kind = Task::Kind::kBackward, .step = step}, at, nullptr);
              },
          .stop = {}};
}

void IceSheetChain::submit(const Task& task, const StateBuffer& from,
                           const StateBuffer* to) {
  static starpu_codelet codelet = make_open_codelet(
      [](void** buffers, void* arguments) { run_task(buffers, arguments); }, "ice_sheet");
  Task mine = task;
  mine.self = this;
  mine.from = reinterpret_cast<const double*>(from.data);
  std::vector<Access> accesses = {{working_, STARPU_RW}};
  if (task.kind == Task::Kind::kStart) {
    mine.to = reinterpret_cast<double*>(from.data);
    accesses.push_back({from.parts[0], STARPU_W});
  } else if (to != nullptr && to->data == from.data) {
    mine.to = reinterpret_cast<double*>(from.data);
    accesses.push_back({from.parts[0], STARPU_RW});
  } else {
    accesses.push_back({from.parts[0], STARPU_R});
    if (to != nullptr) {
      mine.to = reinterpret_cast<double*>(to->data);
      accesses.push_back({to->parts[0], STARPU_W});
    }
  }
  submit_task(codelet, accesses, mine);
}

void IceSheetChain::run_task(void** /*buffers*/, void* arguments) noexcept {
  const Task& task = *static_cast<const Task*>(arguments);
  task.self->errors_.run([&task] { task.self->compute(task); });
}

void IceSheetChain::compute(const Task& task) {
  const std::size_t cells = test_.cells();
  if (task.kind == Task::Kind::kStart) {
    std::ranges::copy(test_.initial, task.to);
    return;
  }
  const std::span from(task.from, cells);
  const std::int32_t turns = turns_[static_cast<std::size_t>(task.step)];
  if (task.kind == Task::Kind::kAdvance) {
    sheet_.step(task.step, turns, from, std::span(task.to, cells));
    return;
  }
  if (task.step == chain_.steps - 1) {
    sheet_.step(task.step, turns, from, last_);
    misfit_ = sheet_.misfit(last_);
    sheet_.misfit_adjoint(last_, adjoint_);
    std::ranges::fill(rate_adjoint_, 0.0);
  }
  sheet_.step_adjoint(task.step, turns, from, adjoint_, rate_adjoint_);
}

std::span<const double> IceSheetChain::initial_gradient() const { return adjoint_; }
std::span<const double> IceSheetChain::parameter_gradient() const {
  return rate_adjoint_;
}

}  // namespace espalier::training
