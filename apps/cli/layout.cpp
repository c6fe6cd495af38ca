// espalier layout: offsets of buffers in one piece of memory of least capacity.

#include "espalier/layout/layout.h"
#include "cli/number_option.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <utility>

#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/layout_input.h"
#include "cli/naming.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/report_option.h"
#include "cli/size_option.h"
#include "espalier/model/clock.h"
#include "espalier/model/exact_size.h"
#include "espalier/model/validate_layout.h"

namespace espalier::cli {
namespace {

struct LayoutCommand {
  std::string file, out, page;
  Bytes alignment = 1;
  std::optional<Bytes> capacity;
  Seconds timeout = LayoutOptions().time;
  std::int64_t steps = LayoutOptions().steps;
  std::uint64_t seed = LayoutOptions().seed;
  bool json = false;
};

struct LayoutAnswer {
  Layout best;
  Seconds read_seconds = 0, seconds = 0;
  bool interrupted = false;
};

LayoutAnswer search(const LayoutFile& file, const LayoutCommand& command,
                    Progress& progress) {
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  LayoutOptions options;
  options.alignment = command.alignment;
  options.capacity = command.capacity;
  options.time = command.timeout;
  options.steps = command.steps;
  options.seed = command.seed;
  options.progress = [&](const LayoutProgress& now) {
    progress.step(fmt::format("searching: {}, at least {}",
                              format_size(now.capacity_bytes),
                              format_size(now.lower_bound_bytes)));
    return !interrupt.came();
  };
  LayoutAnswer answer;
  answer.best = layout(file.buffers, options);
  answer.interrupted = interrupt.came();
  answer.seconds = since(start);
  return answer;
}

// The answer is checked before anybody relies on it.
void check(const LayoutFile& file, const Layout& best, Bytes alignment) {
  const Violations violations = validate(file.buffers, best, alignment);
  if (!violations.empty())
    throw std::logic_error("the layout is not valid: " + violations.front());
}

void report_answer(Report& report, const LayoutCommand& command,
                   const LayoutAnswer& answer) {
  const Layout& best = answer.best;
  report.heading("Memory");
  report.bytes("load_bytes", "most alive at one time", best.load_bytes);
  report.bytes("capacity_bytes", "capacity of the best layout found",
               best.capacity_bytes);
  report.bytes("lower_bound_bytes", "no layout needs less than", best.lower_bound_bytes);
  report.flag("proved", "proved the least", best.proved());
  report.gap(best.capacity_bytes, best.lower_bound_bytes);
  if (command.capacity) report.bytes("bound_bytes", "to be met", *command.capacity);
  report.count("alignment", command.alignment > 1 ? "alignment" : "", command.alignment);
  report.heading("Search");
  report.flag("stopped", "stopped by a limit", best.stopped && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("seconds", "searched", answer.seconds);
}

// "Proved impossible" and "not found" are different answers.
std::string refusal(const Infeasible& answer) {
  const auto both = size_with_bytes;
  if (answer.reason == Infeasible::Reason::kImpossible)
    return fmt::format(
        "a capacity of {} is too small: no layout needs less than {}; {} "
        "suffices",
        both(answer.bound_bytes), both(answer.lower_bound_bytes),
        both(answer.least_bytes));
  return fmt::format(
      "no layout found inside a capacity of {}; {} suffices, and no layout "
      "needs less than {}",
      both(answer.bound_bytes), both(answer.least_bytes), both(answer.lower_bound_bytes));
}

Ending run_layout(const LayoutCommand& command) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  const LayoutFile file = read_layout_input(command.file, command.alignment);
  const Seconds read_seconds = since(start);
  progress->step("searching");
  LayoutAnswer answer = search(file, command, *progress);
  answer.read_seconds = read_seconds;
  const Layout& best = answer.best;
  progress->step("checking");
  check(file, best, command.alignment);
  if (!command.out.empty()) write_layout_csv(command.out, file, best.offsets);
  if (!command.page.empty()) {
    progress->step("writing the report");
    write_report(command.page, command.file, file, best);
  }
  progress.reset();
  Report report;
  report.text("input", "input", command.file);
  report.count("buffers", "buffers", static_cast<std::int64_t>(file.buffers.size()));
  report_answer(report, command, answer);
  if (!command.capacity || best.capacity_bytes <= *command.capacity) {
    report.print(command.json);
    return kDone;
  }
  const Infeasible answer_no = infeasible(best, *command.capacity);
  print_refusal(std::move(report), answer_no, command.json, refusal(answer_no));
  return {kNo, raise_memory(answer_no.least_bytes, "--capacity")};
}

void add_limits(CLI::App& app, LayoutCommand& command) {
  add_timeout(app, command.timeout,
              "Search no longer than this; the best layout so far and a\n"
              "lower bound are the answer then, as after an interrupt");
  whole(app.add_option("--steps", command.steps,
                       "Steps of search at most: the same answer on every machine")
            ->type_name("N"),
        0);
  add_seed(app, command.seed, "Of the choices that are left to chance");
}

}  // namespace

Command add_layout(CLI::App* app) {
  auto command = std::make_shared<LayoutCommand>();
  app->description("Offsets of buffers with lifetimes, in the least memory");
  app->add_option("BUFFERS", command->file,
                  "Buffers, a CSV file with the columns id,lower,upper,size, alive\n"
                  "during [lower, upper); plain or gzip (docs/manual/layout.md)")
      ->required();
  add_size(*app, "--capacity",
           "Stop at a layout of no more than this; default: the least",
           [command](Bytes size) { command->capacity = size; });
  add_size(*app, "--alignment", "Of every offset and the capacity; default: 1",
           [command](Bytes size) {
             if (size < 1) throw InvalidInput("0 is not 1 or more");
             command->alignment = size;
           });
  add_limits(*app, *command);
  add_output(*app, "--out", command->out, "Write what was read and a column offset here")
      ->type_name("FILE");
  add_report(*app, command->page);
  add_json(*app, command->json);
  return {app, [command] {
            return naming(command->file, [&] { return run_layout(*command); });
          }};
}

}  // namespace espalier::cli
