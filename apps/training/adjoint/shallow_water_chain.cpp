#include "training/adjoint/shallow_water_chain.h"

#include <algorithm>
#include <array>
#include <exception>

#include "espalier/model/error.h"

namespace espalier::training {
namespace {

constexpr std::int32_t kLeastRows = 8;

std::vector<RowBand> bands_of(std::int32_t rows, std::int32_t count) {
  std::vector<RowBand> bands;
  for (std::int32_t k = 0; k < count; ++k)
    bands.push_back({static_cast<std::int32_t>(std::int64_t{rows} * k / count),
                     static_cast<std::int32_t>(std::int64_t{rows} * (k + 1) / count)});
  return bands;
}

Bytes row_bytes(const Basin& basin, std::size_t values_per_cell) {
  return static_cast<Bytes>(values_per_cell * static_cast<std::size_t>(basin.nx) *
                            sizeof(double));
}

Bytes field_bytes(const Basin& basin, std::size_t values_per_cell) {
  return solver::PageBuffer::footprint(
      checked_mul(row_bytes(basin, values_per_cell), basin.ny));
}

}  // namespace

// What a task computes of one band.
struct ShallowWaterChain::Task {
  enum class Kind { kStart, kStage, kMisfit, kAdjoint };
  Kind kind;
  ShallowWaterChain* self = nullptr;
  double alpha = 0;
  const double *x = nullptr, *y = nullptr, *bar = nullptr;
  double* out = nullptr;
  std::array<const double*, 3> add = {};
  std::int32_t adds = 0;
  std::int32_t band = 0;
};

ShallowWaterChain::ShallowWaterChain(const ShallowWaterCase& test, std::int64_t steps,
                                     std::int32_t bands, std::int32_t workers,
                                     FirstError& errors)
    : test_(test),
      errors_(errors),
      chain_(chain_of(test.basin, steps, bands)),
      bands_(bands_of(test.basin.ny, bands)),
      memory_(4 * field_bytes(test.basin, 3) + field_bytes(test.basin, 1)),
      unused_(memory_.data()),
      row_sums_(static_cast<std::size_t>(test.basin.ny)) {
  for (std::int32_t worker = 0; worker < workers; ++worker)
    lines_.emplace_back(test.basin.nx);
  for (Field* const field : {&first_, &second_, &third_, &adjoint_})
    *field = make_field(3);
  drag_ = make_field(1);
}

ShallowWaterChain::~ShallowWaterChain() {
  for (const Field* const field : {&first_, &second_, &third_, &adjoint_, &drag_})
    for (const starpu_data_handle_t part : field->parts) starpu_data_unregister(part);
}

Chain ShallowWaterChain::chain_of(const Basin& basin, std::int64_t steps,
                                  std::int32_t bands) {
  if (bands < 1 || bands > basin.ny)
    throw InvalidInput(fmt::format("{} bands of {} rows", bands, basin.ny));
  Chain chain{.steps = steps, .parts = {}, .in_place = true, .tasks_per_step = 3 * bands};
  for (const RowBand band : bands_of(basin.ny, bands))
    chain.parts.push_back(checked_mul(row_bytes(basin, 3), band.end - band.begin));
  return chain;
}

Bytes ShallowWaterChain::workspace_bytes(const Basin& basin, std::int32_t bands,
                                         std::int32_t workers) {
  const Bytes fields =
      checked_add(checked_mul(field_bytes(basin, 3), 4), field_bytes(basin, 1));
  const Bytes lines = checked_mul(static_cast<Bytes>(Lines::bytes(basin.nx)), workers);
  const Bytes handles = checked_mul(5 * std::int64_t{bands}, handle_bytes());
  return checked_add(checked_add(fields, lines), handles);
}

std::int32_t ShallowWaterChain::default_bands(const Basin& basin, std::int32_t workers) {
  return std::clamp(basin.ny / kLeastRows, 1, 2 * workers);
}

ShallowWaterChain::Field ShallowWaterChain::make_field(std::size_t values_per_cell) {
  Field field;
  field.data = reinterpret_cast<double*>(unused_);
  unused_ += field_bytes(test_.basin, values_per_cell);
  const Bytes row = row_bytes(test_.basin, values_per_cell);
  for (const RowBand band : bands_) {
    starpu_variable_data_register(
        &field.parts.emplace_back(), STARPU_MAIN_RAM,
        reinterpret_cast<std::uintptr_t>(field.data) +
            static_cast<std::uintptr_t>(row * band.begin),
        static_cast<std::size_t>(row * (band.end - band.begin)));
  }
  return field;
}

ChainCallbacks ShallowWaterChain::callbacks() {
  return {.start = [this](const StateBuffer& to) { start(to); },
          .advance = [this](std::int64_t, const StateBuffer& from,
                            const StateBuffer& to) { advance(from, to); },
          .backward = [this](std::int64_t step,
                             const StateBuffer& at) { backward(step, at); },
          .stop = {}};
}

// The band of each of `wide` is read with its neighbours; `own` comes beside.
void ShallowWaterChain::submit(
    const Task& task, std::int32_t band, std::vector<Access> own,
    std::initializer_list<std::span<const starpu_data_handle_t>> wide) {
  static starpu_codelet codelet = make_open_codelet(
      [](void** buffers, void* arguments) { run_task(buffers, arguments); },
      "shallow_water");
  const auto count = static_cast<std::int32_t>(bands_.size());
  for (const auto parts : wide) {
    std::array near = {(band + count - 1) % count, band, (band + 1) % count};
    std::ranges::sort(near);
    const auto end = std::ranges::unique(near).begin();
    for (auto each = near.begin(); each != end; ++each)
      own.push_back({parts[static_cast<std::size_t>(*each)], STARPU_R});
  }
  Task mine = task;
  mine.self = this;
  mine.band = band;
  submit_task(codelet, own, mine);
}

void ShallowWaterChain::run_task(void** /*buffers*/, void* arguments) noexcept {
  const Task& task = *static_cast<const Task*>(arguments);
  task.self->errors_.run([&task] { task.self->compute(task); });
}

void ShallowWaterChain::compute(const Task& task) {
  const Basin& basin = test_.basin;
  const RowBand band = bands_[static_cast<std::size_t>(task.band)];
  Lines& lines = lines_[static_cast<std::size_t>(starpu_worker_get_id())];
  const std::size_t first = static_cast<std::size_t>(band.begin) * basin.row_size();
  const std::size_t last = static_cast<std::size_t>(band.end) * basin.row_size();
  switch (task.kind) {
    case Task::Kind::kStart:
      std::copy(test_.initial.begin() + static_cast<std::ptrdiff_t>(first),
                test_.initial.begin() + static_cast<std::ptrdiff_t>(last),
                task.out + first);
      break;
    case Task::Kind::kStage:
      shallow_water_stage(basin, test_.drag.data(), task.x, task.y, task.alpha, task.out,
                          band, lines);
      break;
    case Task::Kind::kMisfit:
      shallow_water_misfit(basin, test_.observed.data(), task.x, row_sums_.data(), band);
      shallow_water_misfit_adjoint(basin, test_.observed.data(), task.x, task.out, band);
      std::fill(drag_.data + first / 3, drag_.data + last / 3, 0.0);
      break;
    case Task::Kind::kAdjoint:
      shallow_water_stage_adjoint(
          basin, test_.drag.data(), task.y, task.bar, task.alpha,
          std::span(task.add).first(static_cast<std::size_t>(task.adds)), task.out,
          drag_.data, band, lines);
      break;
  }
}

void ShallowWaterChain::for_bands(
    const std::function<void(std::int32_t, std::size_t)>& each) {
  for (std::size_t k = 0; k < bands_.size(); ++k) each(static_cast<std::int32_t>(k), k);
}

void ShallowWaterChain::start(const StateBuffer& to) {
  auto* const out = reinterpret_cast<double*>(to.data);
  for_bands([&](std::int32_t band, std::size_t k) {
    submit({.kind = Task::Kind::kStart, .out = out}, band, {{to.parts[k], STARPU_W}}, {});
  });
}

namespace {
const double* values(const StateBuffer& state) {
  return reinterpret_cast<const double*>(state.data);
}
}  // namespace

// y1 and y2 of a step, in first_ and second_.
void ShallowWaterChain::stages(const StateBuffer& from) {
  const Task first{.kind = Task::Kind::kStage,
                   .alpha = 1. / 3,
                   .x = values(from),
                   .y = values(from),
                   .out = first_.data};
  const Task second{.kind = Task::Kind::kStage,
                    .alpha = 0.5,
                    .x = values(from),
                    .y = first_.data,
                    .out = second_.data};
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(first, band, {{first_.parts[k], STARPU_W}}, {from.parts});
  });
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(second, band, {{from.parts[k], STARPU_R}, {second_.parts[k], STARPU_W}},
           {first_.parts});
  });
}

void ShallowWaterChain::advance(const StateBuffer& from, const StateBuffer& to) {
  stages(from);
  const bool in_place = from.data == to.data;
  const Task third{.kind = Task::Kind::kStage,
                   .alpha = 1,
                   .x = values(from),
                   .y = second_.data,
                   .out = reinterpret_cast<double*>(to.data)};
  for_bands([&](std::int32_t band, std::size_t k) {
    std::vector<Access> own = {{to.parts[k], in_place ? STARPU_RW : STARPU_W}};
    if (!in_place) own.push_back({from.parts[k], STARPU_R});
    submit(third, band, std::move(own), {second_.parts});
  });
}

// The end of the chain, which nothing else reaches, in third_, and the adjoint there.
void ShallowWaterChain::begin_backward(const StateBuffer& at) {
  advance(at, third_.buffer());
  const Task misfit{.kind = Task::Kind::kMisfit, .x = third_.data, .out = adjoint_.data};
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(misfit, band,
           {{third_.parts[k], STARPU_R},
            {adjoint_.parts[k], STARPU_W},
            {drag_.parts[k], STARPU_W}},
           {});
  });
}

// The adjoint of y2 goes into third_, that of y1 into second_, where y2 was.
void ShallowWaterChain::backward(std::int64_t step, const StateBuffer& at) {
  if (step == chain_.steps - 1)
    begin_backward(at);
  else
    stages(at);
  const auto adjoint = [](double alpha, const double* y, const Field& bar,
                          const Field& out) {
    return Task{.kind = Task::Kind::kAdjoint,
                .alpha = alpha,
                .y = y,
                .bar = bar.data,
                .out = out.data};
  };
  const Task of_second = adjoint(1, second_.data, adjoint_, third_);
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(of_second, band, {{third_.parts[k], STARPU_W}, {drag_.parts[k], STARPU_RW}},
           {second_.parts, adjoint_.parts});
  });
  const Task of_first = adjoint(0.5, first_.data, third_, second_);
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(of_first, band, {{second_.parts[k], STARPU_W}, {drag_.parts[k], STARPU_RW}},
           {first_.parts, third_.parts});
  });
  Task of_state = adjoint(1. / 3, values(at), second_, adjoint_);
  of_state.add = {adjoint_.data, third_.data, second_.data};
  of_state.adds = 3;
  for_bands([&](std::int32_t band, std::size_t k) {
    submit(of_state, band,
           {{third_.parts[k], STARPU_R},
            {adjoint_.parts[k], STARPU_RW},
            {drag_.parts[k], STARPU_RW}},
           {at.parts, second_.parts});
  });
}

double ShallowWaterChain::misfit() const {
  double sum = 0;
  for (const double each : row_sums_) sum += each;
  return sum;
}
std::span<const double> ShallowWaterChain::initial_gradient() const {
  return {adjoint_.data, test_.basin.state_size()};
}
std::span<const double> ShallowWaterChain::parameter_gradient() const {
  return {drag_.data, test_.basin.cells()};
}

}  // namespace espalier::training
