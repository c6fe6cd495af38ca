// Over 300 lines, from the options to the answer of one subcommand.
// espalier shard: a way to place each operator on a mesh of devices, of least cost within
// a limit of memory.

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cli/command.h"
#include "cli/gzip_text.h"
#include "cli/interrupt.h"
#include "cli/naming.h"
#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/order_input.h"
#include "cli/output.h"
#include "cli/shard_transformer.h"
#include "cli/size_option.h"
#include "espalier/io/iopddl_json.h"
#include "espalier/io/text_file.h"
#include "espalier/model/clock.h"
#include "espalier/model/exact_size.h"
#include "espalier/model/validate_sharding.h"
#include "espalier/sharding/choose_by_blocks.h"
#include "espalier/sharding/shard_operators.h"
#include "espalier/sharding/zero.h"
#include "espalier/training/fold_constants.h"

namespace espalier::cli {
namespace {

constexpr Bytes kNoLimit = Bytes{1} << 60;
// Of the search for what would do, where nothing fits.
constexpr Seconds kRemedySeconds = 5;

struct ShardCommand {
  std::string file, solution;
  TransformerRequest transformer;
  std::optional<Bytes> memory;
  Seconds timeout = ShardingOptions().time;
  std::int64_t rounds = ShardingOptions().rounds;
  std::uint64_t seed = ShardingOptions().seed;
  bool processor_time = false;
  bool json = false;
};

/// The question; of a model, what its nodes and their strategies are.
struct ShardInput {
  ShardingProblem problem;
  std::optional<OperatorShards> model;
};

struct ShardAnswer {
  ShardingChoice choice;
  std::size_t blocks = 0, distinct_blocks = 0;  // of a model
  Seconds read_seconds = 0, seconds = 0;
  bool interrupted = false;
};

bool is_model(const std::string& file) { return file.ends_with(".onnx"); }

ShardInput read_model_file(const ShardCommand& command) {
  const TransformerRequest& request = command.transformer;
  GraphSource source;
  source.file = command.file;
  if (request.batch > 0) source.batch = request.batch;
  const OperatorGraph model = fold_constants(read_model(source));
  // 32-bit parameters, as in the file.
  const DeviceFigures device{request.rate, 4,
                             double(optimiser_bytes(request.optimiser, false)->all())};
  return naming<Error>(command.file, [&]() -> ShardInput {
    OperatorShards shards = shard_operators(model, mesh_of(request), device,
                                            command.memory.value_or(kNoLimit));
    ShardingProblem problem = std::move(shards.problem);
    return {std::move(problem), std::move(shards)};
  });
}

ShardInput read(const ShardCommand& command) {
  if (is_model(command.file)) return read_model_file(command);
  GzipText text(command.file);
  ShardingProblem problem = read_iopddl(text, command.file);
  if (!command.memory) return {std::move(problem), {}};
  return {{{problem.nodes().begin(), problem.nodes().end()},
           {problem.edges().begin(), problem.edges().end()},
           *command.memory},
          {}};
}

ShardAnswer search(const ShardInput& input, const ShardCommand& command,
                   Progress& progress) {
  const ShardingProblem& problem = input.problem;
  const Clock::time_point start = Clock::now();
  const Interrupt interrupt;
  ShardingOptions options;
  options.time = command.timeout;
  options.rounds = command.rounds;
  options.seed = command.seed;
  options.processor_time = command.processor_time;
  options.progress = [&](const ShardingProgress& now) {
    const std::string found =
        now.found ? fmt::format("cost {}", now.cost) : std::string("nothing found");
    progress.step(fmt::format("searching: {}, at least {}", found, now.lower_bound));
    return !interrupt.came();
  };
  ShardAnswer answer;
  if (input.model) {
    BlockedChoice blocked = choose_by_blocks(problem, input.model->kinds, options);
    answer.choice = std::move(blocked.choice);
    answer.blocks = blocked.blocks;
    answer.distinct_blocks = blocked.distinct_blocks;
  } else {
    answer.choice = choose_strategies(problem, options);
  }
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

// A list by node, or of a model its operators' ways by name.
void write_solution(const std::string& path, const ShardInput& input,
                    const ShardingChoice& choice) {
  nlohmann::ordered_json ways = nlohmann::ordered_json::object();
  if (input.model)
    for (std::size_t i = 0; i < choice.strategies.size(); ++i)
      ways[input.model->names[i]] =
          input.model->ways(i)[static_cast<std::size_t>(choice.strategies[i])];
  write_file(path, [&](std::ostream& out) {
    TextOutput text(out);
    if (input.model)
      text.print("{}", dump(ways));
    else
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
  report.gap(choice.cost, choice.lower_bound);
  report.bytes("memory_bytes", "most held at one time", choice.memory_bytes);
  if (problem.limit() < kNoLimit) report.bytes("limit_bytes", "limit", problem.limit());
}

void report_search(Report& report, const ShardAnswer& answer) {
  report.heading("Search");
  if (answer.blocks > 0) {
    report.count("blocks", "blocks, one after the other", std::int64_t(answer.blocks));
    report.count("distinct_blocks", "of which are distinct",
                 std::int64_t(answer.distinct_blocks));
  }
  report.flag("stopped", "stopped by a limit",
              answer.choice.stopped && !answer.interrupted);
  report.flag("interrupted", answer.interrupted ? "interrupted" : "", answer.interrupted);
  report.seconds("read_seconds", "read", answer.read_seconds);
  report.seconds("seconds", "searched", answer.seconds);
}

// "Proved impossible" and "not found" are different answers.
// @param ever  whether more memory may help
std::string refusal(const ShardingProblem& problem, const ShardingChoice& choice,
                    bool ever) {
  if (!ever) return "no choice is allowed, whatever the bound is";
  const auto both = size_with_bytes;
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

// Looks for memory within which there is a choice: the least that the search came by,
// else what the cheapest of all holds. @return false: there is none
bool find_sufficient(const ShardingProblem& problem, ShardingChoice& choice) {
  if (choice.least_memory_bytes) return true;
  const ShardingProblem unlimited{{problem.nodes().begin(), problem.nodes().end()},
                                  {problem.edges().begin(), problem.edges().end()},
                                  kNoLimit};
  const ShardingChoice any =
      choose_strategies(unlimited, {.time = kRemedySeconds, .rounds = 100});
  if (any.found) choice.least_memory_bytes = any.memory_bytes;
  return !any.impossible;
}

Ending refuse(Report report, const ShardingProblem& problem, ShardingChoice choice,
              bool json) {
  using Reason = Infeasible::Reason;
  const bool ever = find_sufficient(problem, choice);
  const Infeasible no{choice.impossible ? Reason::kImpossible : Reason::kNoneFound,
                      problem.limit(), choice.least_memory_bytes.value_or(0),
                      choice.lower_bound_bytes};
  print_refusal(std::move(report), no, json, refusal(problem, choice, ever));
  if (!choice.least_memory_bytes) return kNo;
  return {kNo, raise_memory(*choice.least_memory_bytes)};
}

Ending run_shard(const ShardCommand& command) {
  std::optional<Progress> progress(std::in_place, "reading");
  const Clock::time_point start = Clock::now();
  const ShardInput input = read(command);
  const ShardingProblem& problem = input.problem;
  const Seconds read_seconds = since(start);
  progress->step("searching");
  ShardAnswer answer = search(input, command, *progress);
  answer.read_seconds = read_seconds;
  if (answer.choice.found) {
    progress->step("checking");
    check(problem, answer.choice);
    if (!command.solution.empty()) write_solution(command.solution, input, answer.choice);
  }
  progress.reset();
  Report report;
  report.text("input", "input", command.file);
  if (input.model) report.count("devices", "devices", command.transformer.mesh.devices());
  report.count("nodes", "nodes", std::ssize(problem.nodes()));
  report.count("edges", "edges", std::ssize(problem.edges()));
  if (!answer.choice.found)
    return refuse(std::move(report), problem, answer.choice, command.json);
  report_choice(report, problem, answer.choice);
  if (input.model)
    report.seconds("step_seconds", "a step takes", double(answer.choice.cost) * 1e-12);
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
  whole(app.add_option("--rounds", command.rounds,
                       "Rounds of search at most: the same answer on every machine")
            ->type_name("N"),
        0);
  app.add_flag("--processor-time", command.processor_time,
               "The limit is of processor time: the same beside other work");
  add_seed(app, command.seed, "Of the choices that are left to chance");
}

}  // namespace

namespace {

// One question, and no option that it has no use for.
void check(const ShardCommand& command, const CLI::App& app) {
  using Names = std::initializer_list<std::string_view>;
  const bool model = !command.transformer.name.empty();
  if (model == !command.file.empty())
    throw Refused(
        "shard wants an INSTANCE or --transformer, one of them",
        model ? drop_option("--transformer") : set_option("--transformer", "gpt2"));
  if (model)
    refuse_given(app, Names{"--timeout", "--rounds", "--processor-time", "--seed"},
                 "only for an INSTANCE, which is searched");
  else if (is_model(command.file))
    refuse_given(app, Names{"--layers"}, "only for --transformer");
  else
    refuse_given(app,
                 Names{"--mesh", "--training", "--batch", "--layers", "--bandwidth",
                       "--latency", "--rate"},
                 "only for models; the file has costs and usages");
}

}  // namespace

Command add_shard(CLI::App* app) {
  auto command = std::make_shared<ShardCommand>();
  app->description("A sharding of each operator, at least cost within a limit of memory");
  app->add_option("INSTANCE", command->file,
                  "An ONNX model (.onnx), or operators with strategies and their\n"
                  "costs, JSON of the IOPDDL contest, plain or gzip\n"
                  "(docs/manual/sharding.md)");
  add_transformer(*app, command->transformer);
  add_limits(*app, *command);
  add_output(*app, "--solution", command->solution,
             "Write the chosen strategies here: a JSON list by node, of a\n"
             "model the way of each operator");
  add_json(*app, command->json);
  return {app,
          [command]() -> Ending {
            if (command->transformer.name.empty()) return run_shard(*command);
            return shard_transformer(command->transformer, command->memory,
                                     command->solution, command->json);
          },
          false, [command, app] { check(*command, *app); }};
}

}  // namespace espalier::cli
