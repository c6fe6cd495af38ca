// espalier shard: a way to place each operator on a mesh of devices, of least cost within
// a limit of memory.

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/command.h"
#include "cli/gzip_text.h"
#include "cli/interrupt.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/shard_transformer.h"
#include "cli/size_option.h"
#include "espalier/io/iopddl_json.h"
#include "espalier/io/text_file.h"
#include "espalier/model/validate_sharding.h"
#include "espalier/sharding/choose_strategies.h"
#include "solver/memory/clock.h"

namespace espalier::cli {
namespace {

using solver::Clock;
using solver::since;

struct ShardCommand {
  std::string file, solution;
  TransformerRequest transformer;
  std::optional<Bytes> memory;
  Seconds timeout = ShardingOptions().time;
  std::int64_t rounds = ShardingOptions().rounds;
  std::uint64_t seed = ShardingOptions().seed;
  bool json = false;
};

struct ShardAnswer {
  ShardingChoice choice;
  Seconds read_seconds = 0, seconds = 0;
  bool interrupted = false;
};

ShardingProblem read(const ShardCommand& command) {
  ShardingProblem problem = read_iopddl(read_gzip_text(command.file), command.file);
  if (!command.memory) return problem;
  return {{problem.nodes().begin(), problem.nodes().end()},
          {problem.edges().begin(), problem.edges().end()},
          *command.memory};
}

ShardAnswer search(const ShardingProblem& problem, const ShardCommand& command,
                   Progress& progress) {
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  ShardingOptions options;
  options.time = command.timeout;
  options.rounds = command.rounds;
  options.seed = command.seed;
  options.progress = [&](const ShardingProgress& now) {
    const std::string found =
        now.found ? fmt::format("cost {}", now.cost) : std::string("nothing found");
    progress.step(fmt::format("searching: {}, at least {}", found, now.lower_bound));
    return !interrupt.came();
  };
  ShardAnswer answer;
  answer.choice = choose_strategies(problem, options);
  answer.interrupted = interrupt.came();
  answer.seconds = since(start);
  return answer;
}

// The answer is checked before anybody relies on it.
void check(const ShardingProblem& problem, const ShardingChoice& choice) {
  const Violations violations = validate(problem, choice);
  if (!violations.empty())
    throw std::logic_error("the choice is not valid: " + violations.front());
}

void write_solution(const std::string& path, const ShardingChoice& choice) {
  write_file(path, [&](std::ostream& out) {
    TextOutput text(out);
    text.print("[{}]\n", fmt::join(choice.strategies, ","));
    text.flush();
  });
}

void report_choice(Report& report, const ShardingProblem& problem,
                   const ShardingChoice& choice) {
  report.heading("Answer");
  report.count("cost", "cost of the best choice found", choice.cost);
  report.count("lower_bound", "no choice costs less than", choice.lower_bound);
  report.flag("proved", "proved the least", choice.proved());
  const auto over = static_cast<double>(choice.cost - choice.lower_bound);
  report.ratio("gap", choice.proved() ? "" : "gap, in %",
               choice.proved() ? 0 : 100 * over / static_cast<double>(choice.cost));
  report.bytes("memory_bytes", "most held at one time", choice.memory_bytes);
  report.bytes("limit_bytes", "limit", problem.limit());
}

void report_search(Report& report, const ShardAnswer& answer) {
  report.heading("Search");
  report.flag("stopped", "stopped by a limit",
              answer.choice.stopped && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("seconds", "searched", answer.seconds);
}

// "Proved impossible" and "not found" are different answers.
std::string refusal(const ShardingProblem& problem, const ShardingChoice& choice) {
  const auto both = [](Bytes bytes) {
    return fmt::format("{} ({} bytes)", format_size(bytes), bytes);
  };
  std::string text =
      choice.impossible
          ? fmt::format("no choice is allowed within {}", both(problem.limit()))
          : fmt::format("no choice found within {}", both(problem.limit()));
  if (choice.lower_bound_bytes > problem.limit())
    text += fmt::format(": none holds less than {}", both(choice.lower_bound_bytes));
  if (choice.least_memory_bytes)
    text += fmt::format("; {} suffices", both(*choice.least_memory_bytes));
  return text;
}

Ending refuse(Report report, const ShardingProblem& problem, const ShardingChoice& choice,
              bool json) {
  using Reason = Infeasible::Reason;
  const Infeasible no{choice.impossible ? Reason::kImpossible : Reason::kNoneFound,
                      problem.limit(), choice.least_memory_bytes.value_or(0),
                      choice.lower_bound_bytes};
  print_refusal(std::move(report), no, json, refusal(problem, choice));
  if (!choice.least_memory_bytes) return kNo;
  return {kNo, raise_memory(*choice.least_memory_bytes)};
}

Ending run_shard(const ShardCommand& command) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  const ShardingProblem problem = read(command);
  const Seconds read_seconds = since(start);
  progress->step("searching");
  ShardAnswer answer = search(problem, command, *progress);
  answer.read_seconds = read_seconds;
  if (answer.choice.found) {
    progress->step("checking");
    check(problem, answer.choice);
    if (!command.solution.empty()) write_solution(command.solution, answer.choice);
  }
  progress.reset();
  Report report;
  report.text("input", "input", command.file);
  report.count("nodes", "nodes", std::ssize(problem.nodes()));
  report.count("edges", "edges", std::ssize(problem.edges()));
  if (!answer.choice.found)
    return refuse(std::move(report), problem, answer.choice, command.json);
  report_choice(report, problem, answer.choice);
  report_search(report, answer);
  report.print(command.json);
  return kDone;
}

void add_limits(CLI::App& app, ShardCommand& command) {
  add_size(app, "--memory", "Limit of memory on each device, instead of the file's",
           [&command](Bytes limit) { command.memory = limit; });
  add_timeout(app, command.timeout,
              "Search no longer than this; the best choice so far and a\n"
              "lower bound are the answer then, as after an interrupt");
  app.add_option("--rounds", command.rounds,
                 "Rounds of search at most: the same answer on every machine")
      ->type_name("N")
      ->check(CLI::NonNegativeNumber);
  app.add_option("--seed", command.seed, "Of the choices that are left to chance")
      ->type_name("N")
      ->capture_default_str();
}

}  // namespace

Command add_shard(CLI::App& program) {
  auto command = std::make_shared<ShardCommand>();
  CLI::App* app = program.add_subcommand(
      "shard", "A sharding of each operator, at least cost within a limit of memory");
  add_path(*app, "INSTANCE", command->file,
           "Operators with strategies and their costs, JSON of the IOPDDL\n"
           "contest; plain or gzip (docs/manual/sharding.md)");
  add_transformer(*app, command->transformer);
  add_limits(*app, *command);
  add_path(*app, "--solution", command->solution,
           "Write the chosen strategies here, a JSON list by node");
  add_json(*app, command->json);
  return {app, [command]() -> Ending {
            const bool model = !command->transformer.name.empty();
            if (model == !command->file.empty())
              throw InvalidInput("shard wants an INSTANCE or --transformer, one of them");
            if (!model) return run_shard(*command);
            return shard_transformer(command->transformer, command->memory,
                                     command->solution, command->json);
          }};
}

}  // namespace espalier::cli
