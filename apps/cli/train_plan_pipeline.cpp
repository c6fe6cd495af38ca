// espalier train-plan pipeline: schedules of micro-batches through stages.
// One subcommand from its options to its answer: over 300 lines.

#include "cli/train_plan_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "cli/interrupt.h"
#include "cli/naming.h"
#include "cli/output.h"
#include "cli/train_plan_pipeline_answer.h"
#include "espalier/checkpoint/rotor.h"
#include "espalier/io/checkpoint_io.h"
#include "espalier/io/text_file.h"
#include "espalier/model/clock.h"
#include "espalier/report/pipeline_page.h"
#include "espalier/sharding/cut_chain.h"

namespace espalier::cli {
namespace {

/// Of the device that needs most, one micro-batch at a time.
Bytes least_bytes(const std::vector<PipelineStage>& stages) {
  Bytes least = 0;
  for (std::size_t s = 0; s < stages.size(); ++s) {
    try {
      const Bytes held = checked_add(stages[s].until_backward, stages[s].until_weight);
      least = std::max(least, checked_add(stages[s].persistent, held));
    } catch (const OverflowError& error) {
      throw OverflowError(fmt::format("stage {}: {}", s, error.what()));
    }
  }
  return least;
}

std::optional<Bytes> bound_of(const MemoryRequest& memory, Bytes least) {
  if (memory.kind == MemoryRequest::Kind::kUnbounded) return std::nullopt;
  return memory.resolve(least, least);
}

/// So many micro-batches, as a user writes it: what is less than one byte of their unit
/// is not there.
Bytes micro_batch_bytes(const std::string& text) {
  double count = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] =
      std::from_chars(text.data(), end, count, std::chars_format::fixed);
  if (error != std::errc() || stop != end)
    throw Refused(fmt::format("--memory {}: stages without sizes are counted in "
                              "micro-batches, a number",
                              text),
                  drop_option("--memory"));
  const long double bytes = std::floor(static_cast<long double>(count) * kMicroBatchUnit);
  if (bytes >= 0x1p63L)
    throw Refused(fmt::format("--memory {}: more micro-batches than 64 bits hold", text),
                  drop_option("--memory"));
  return static_cast<Bytes>(bytes);
}

/// A chain's parts as stages. The budget of a part is now what it uses of that: so much
/// each micro-batch under way holds.
struct CutStages {
  ChainCut cut;
  std::vector<PipelineStage> stages;
};

CutStages stages_of(const RotorTable& table, ChainCut cut) {
  CutStages result{std::move(cut), {}};
  for (ChainCut::Part& part : result.cut.parts) {
    Nanoseconds forward = 0;
    for (std::int64_t i = part.first; i <= part.last; ++i)
      forward += table.chain().stage(i).forward;
    const Bytes input = table.chain().stage(part.first).input;
    Bytes used = 0;
    for (const BudgetPoint& point : table.part(part.first, part.last))
      if (point.bytes + input <= part.budget) used = point.bytes + input;
    part.budget = used;
    result.stages.push_back({forward, part.cost - forward, 0, used, 0, part.weights});
  }
  return result;
}

/// What cutting a chain asks.
struct ChainQuestion {
  std::shared_ptr<const RotorTable> table;
  std::vector<Bytes> weights;
  std::vector<std::int64_t> under_way;
  [[nodiscard]] Expected<ChainCut> cut(Bytes bound) const {
    return cut_chain(*table, weights, under_way, bound);
  }
};

ChainQuestion chain_question(const PipelineRequest& request, Progress& progress) {
  const auto chain = std::make_shared<const Chain>(read_chain(request.chain));
  if (!request.stages)
    throw Refused("--chain needs --stages",
                  set_option("--stages", fmt::format("{}", std::min<std::int64_t>(
                                                               2, chain->size()))));
  if (*request.stages > chain->size())
    throw Refused(fmt::format("--stages: {} parts of a chain of {} stages",
                              *request.stages, chain->size()),
                  set_option("--stages", fmt::format("{}", chain->size())));
  ChainQuestion question;
  question.table = std::make_shared<const RotorTable>(
      chain, [&](double part) { progress.update(part); });
  const auto count = static_cast<std::size_t>(chain->size());
  question.weights = request.weights;
  if (question.weights.empty()) question.weights = {0};
  if (question.weights.size() == 1) question.weights.assign(count, question.weights[0]);
  if (question.weights.size() != count)
    throw Refused(fmt::format("--weights: {} values for a chain of {} stages",
                              question.weights.size(), count),
                  drop_option("--weights"));
  for (std::int32_t s = 0; s < *request.stages; ++s)
    question.under_way.push_back(std::min(*request.stages - s, request.micro_batches));
  return question;
}

void check(const CLI::App& app, const PipelineRequest& request) {
  std::vector<std::string_view> names = {"--forward",      "--backward",
                                         "--weight",       "--until-backward",
                                         "--until-weight", "--persistent"};
  if (!request.file.empty()) {
    names.insert(names.begin(), {"--chain", "--weights", "--stages"});
    return refuse_given(app, names, "a file of stages has its own");
  }
  constexpr std::string_view kOfChain[] = {"--weights"};
  if (request.chain.empty()) return refuse_given(app, kOfChain, "only for a --chain");
  refuse_given(app, names, "a chain has its own times and sizes");
  const PipelineForm one_each{PipelineScheme::kOneForwardOneBackward, 1};
  if (request.form && *request.form != one_each)
    throw Refused(
        "--chain counts micro-batches under way as 1f1b: no other "
        "--schedule goes with it",
        set_option("--schedule", "1f1b"));
}

void check_micro_batches(const PipelineRequest& request, std::int32_t stages) {
  if (!request.form) return;
  const std::int32_t allowed =
      allowed_micro_batches(*request.form, stages, request.micro_batches);
  if (allowed == request.micro_batches) return;
  throw Refused(
      fmt::format("--micro-batches {}: not a multiple of the {} stages, as {} needs",
                  request.micro_batches, stages, describe(*request.form)),
      set_option("--micro-batches", fmt::format("{}", allowed)));
}

// @param unit  bytes of a micro-batch where these are counted; 1: bytes are
std::string held_text(Bytes bytes, Bytes unit) {
  if (unit == 1) return fmt::format("{}", bytes);
  return fmt::format("{}", static_cast<double>(bytes) / static_cast<double>(unit));
}

void write_timeline(const std::string& path, const PipelinePlan& plan, Bytes unit) {
  const auto held = pipeline_memory(plan.pipeline, plan.schedule, plan.run);
  write_file(path, [&](std::ostream& out) {
    TextOutput text(out);
    text.line("device,nanoseconds,{}", unit > 1 ? "micro_batches" : "bytes");
    for (std::size_t d = 0; d < held.size(); ++d)
      for (const PipelineHolding& moment : held[d])
        text.line("{},{},{}", d, moment.time, held_text(moment.bytes, unit));
    text.flush();
  });
}

void write_operations(const std::string& path, const PipelinePlan& plan) {
  write_file(path, [&](std::ostream& out) {
    TextOutput text(out);
    text.line("device,operation,micro_batch,chunk,begin_nanoseconds,end_nanoseconds");
    for (std::size_t d = 0; d < plan.schedule.orders.size(); ++d) {
      for (std::size_t k = 0; k < plan.schedule.orders[d].size(); ++k) {
        const PipelineOperation& operation = plan.schedule.orders[d][k];
        const Nanoseconds begin = plan.run.starts[d][k];
        text.line("{},{},{},{},{},{}", d, name(operation.kind), operation.micro_batch,
                  operation.chunk, begin, begin + duration(plan.pipeline, operation));
      }
    }
    text.flush();
  });
}

/// Plans every form, or, once time is over and one fits, no more; of those that fit the
/// first of the shortest is the answer. Of a bound that nothing fits into: until one
/// needs no more than `lower_bound`.
void plan_all(PipelineReport& report, const std::vector<PipelineStage>& stages,
              const PipelineRequest& request, Progress& progress) {
  const auto p = static_cast<std::int32_t>(stages.size());
  const std::vector<PipelineForm> forms =
      request.form ? std::vector{*request.form}
      : report.cut.has_value()
          ? std::vector{PipelineForm{PipelineScheme::kOneForwardOneBackward, 1}}
          : pipeline_forms(p, request.micro_batches);
  PipelineSearchOptions options = request.search;
  const bool hopeless = report.is_hopeless();
  options.memory_bound = hopeless ? report.lower_bound : report.bound;
  const Interrupt interrupt;
  const auto start = Clock::now();
  options.stop = [&] { return interrupt.came() || since(start) > request.timeout; };
  for (const PipelineForm& form : forms) {
    if (report.chosen && options.stop()) {
      report.left_out.push_back(form);
      continue;
    }
    if (hopeless && !report.plans.empty() &&
        (options.stop() || report.plans.back().peak_bytes() <= report.lower_bound))
      break;
    progress.step("planning " + describe(form));
    Expected<PipelinePlan> plan =
        plan_pipeline(stages, form, request.micro_batches, report.transfer, options);
    if (!plan) continue;
    const std::size_t k = report.plans.size();
    if ((!report.bound || plan->peak_bytes() <= *report.bound) &&
        (!report.chosen || plan->value < report.plans[*report.chosen].value))
      report.chosen = k;
    report.plans.push_back(std::move(*plan));
  }
}

/// What is counted in micro-batches is asked for in micro-batches.
Ending refuse(const PipelineReport& report, const Infeasible& no, bool json) {
  print_refused(report, no, json);
  if (report.unit == 1) return {kNo, raise_memory(no.least_bytes)};
  const Bytes count = no.least_bytes / report.unit + (no.least_bytes % report.unit != 0);
  return {kNo, set_option("--memory", fmt::format("{}", count))};
}

Ending finish(const PipelineReport& report, const PipelineRequest& request,
              std::optional<Progress>& progress) {
  if (!report.chosen) {  // a named schedule, or several, none of which fits
    Bytes least = std::numeric_limits<Bytes>::max();
    for (const PipelinePlan& plan : report.plans)
      least = std::min(least, plan.peak_bytes());
    progress.reset();
    const bool hopeless = report.is_hopeless();
    if (!request.json && !hopeless) print_pipelines(report, false);
    return refuse(
        report,
        {hopeless ? Infeasible::Reason::kImpossible : Infeasible::Reason::kNoneFound,
         *report.bound, least, report.lower_bound},
        request.json);
  }
  const PipelinePlan& chosen = report.plans[*report.chosen];
  if (!request.timeline.empty()) write_timeline(request.timeline, chosen, report.unit);
  if (!request.operations.empty()) write_operations(request.operations, chosen);
  if (!request.page.empty())
    report::write_page(request.page, {&chosen.pipeline,
                                      &chosen.schedule,
                                      &chosen.run,
                                      report.input,
                                      describe(chosen.form),
                                      chosen.lower_bound,
                                      report.bound,
                                      report.unit,
                                      {},
                                      {}});
  progress.reset();
  print_pipelines(report, request.json);
  return kDone;
}

// Measured times come without sizes (train --stages-out): nothing is said of memory then.
void check_sizes(const PipelineRequest& request, std::span<const PipelineStage> stages) {
  if (request.memory.kind == MemoryRequest::Kind::kUnbounded || request.file.empty())
    return;
  const bool sized = std::ranges::any_of(stages, [](const PipelineStage& stage) {
    return stage.until_backward > 0 || stage.until_weight > 0 || stage.persistent > 0;
  });
  if (!sized)
    throw Refused(fmt::format("--memory: the stages of {} have no sizes "
                              "(until_backward, until_weight, persistent) to bound",
                              request.file),
                  drop_option("--memory"));
}

Ending run_pipeline(const CLI::App& app, const PipelineRequest& request) {
  check(app, request);
  std::optional<Progress> progress(std::in_place, "reading");
  PipelineReport report;
  report.micro_batches = request.micro_batches;
  std::vector<PipelineStage> stages;
  if (request.chain.empty()) {
    PipelineFile file = stages_of(request);
    stages = std::move(file.stages);
    report.transfer = file.transfer;
    report.once = file.once;
    report.input = request.file.empty() ? "stages" : request.file;
    report.unit = is_sized(request) ? 1 : kMicroBatchUnit;
    check_sizes(request, stages);
    report.lower_bound = least_bytes(stages);
    const bool counted =
        report.unit > 1 && request.memory.kind == MemoryRequest::Kind::kSize;
    report.bound = counted ? micro_batch_bytes(request.memory_text)
                           : bound_of(request.memory, report.lower_bound);
  } else {
    report.input = request.chain;
    report.transfer = request.transfer.value_or(0);
    progress->step("planning what to recompute");
    const ChainQuestion question = chain_question(request, *progress);
    const auto none = question.cut(0);
    report.lower_bound = none ? 0 : none.error().least_bytes;
    report.bound = bound_of(request.memory, report.lower_bound);
    auto cut = question.cut(report.bound.value_or(std::numeric_limits<Bytes>::max()));
    if (!cut) {
      progress.reset();
      return refuse(report, cut.error(), request.json);
    }
    CutStages parts = stages_of(*question.table, std::move(*cut));
    report.cut = std::move(parts.cut);
    stages = std::move(parts.stages);
  }
  check_micro_batches(request, static_cast<std::int32_t>(stages.size()));
  plan_all(report, stages, request, *progress);
  return finish(report, request, progress);
}

}  // namespace

Command add_train_plan_pipeline(CLI::App& train_plan) {
  auto request = std::make_shared<PipelineRequest>();
  CLI::App* app = add_pipeline_options(train_plan, *request);
  return {app, [app, request]() -> Ending {
            return naming(request->chain.empty() ? request->file : request->chain,
                          [&] { return run_pipeline(*app, *request); });
          }};
}

}  // namespace espalier::cli
