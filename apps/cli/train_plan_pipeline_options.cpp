#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <charconv>

#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/report_option.h"
#include "cli/train_plan_pipeline.h"
#include "espalier/io/checkpoint_io.h"
#include "espalier/io/pipeline_file.h"
#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

template <class T, class Parse>
void add_list(CLI::App& app, const std::string& option, std::vector<T>& values,
              const Parse& parse, const std::string& type, const std::string& help) {
  add_read(
      app, option,
      [&values, parse](std::string_view text) {
        values.clear();
        for (;;) {
          const std::size_t comma = text.find(',');
          values.push_back(parse(text.substr(0, comma)));
          if (comma == std::string_view::npos) return;
          text.remove_prefix(comma + 1);
        }
      },
      help)
      ->type_name(type + "[," + type + "…]");
}

void add_stages(CLI::App& app, PipelineRequest& request) {
  app.add_option("STAGES", request.file,
                 "Stages, one a line, CSV or JSON (docs/manual/train-plan.md); or:")
      ->type_name("FILE");
  whole(
      app.add_option("--stages", request.stages, "Stages, one a device")->type_name("N"),
      1, 4096);
  whole(
      app.add_option("--micro-batches", request.micro_batches, "Micro-batches of a step")
          ->type_name("M"),
      1, 1 << 20)
      ->capture_default_str();
  const auto time = [&](const char* option, auto& values, const char* help) {
    add_list(app, option, values, parse_duration, "TIME", help);
  };
  const auto size = [&](const char* option, auto& values, const char* help) {
    add_list(app, option, values, parse_size, "SIZE", help);
  };
  time("--forward", request.forward,
       "Of one micro-batch in a stage: one for all, or one each;\n"
       "default: 1s");
  time("--backward", request.backward, "Gradient of the input alone; default: 1s");
  time("--weight", request.weight,
       "Gradients of the weights; default: 1s, 0s beside --backward");
  size("--until-backward", request.until_backward,
       "What a micro-batch holds from its forward to its input gradient");
  size("--until-weight", request.until_weight,
       "… and to its weight gradients. Without sizes micro-batches are\n"
       "counted");
  size("--persistent", request.persistent, "Weights, gradients, optimiser states");
  add_read(
      app, "--transfer",
      [&request](const std::string& text) { request.transfer = parse_duration(text); },
      "From a stage to the next; default: the file's, or 0s")
      ->type_name("TIME");
}

void add_search(CLI::App& app, PipelineRequest& request) {
  add_read(
      app, "--schedule",
      [&request](const std::string& text) {
        request.form = parse_pipeline_form(text);
        if (!request.form && text != "all")
          throw InvalidInput(
              fmt::format("'{}' is none of all, gpipe, 1f1b, interleaved[:V], zb-h1, "
                          "zb-h2, zb-v, search[:2]",
                          text));
      },
      "One schedule, by its name or the best that a search finds (:V\n"
      "chunks a device); default: all, and the shortest that fits")
      ->type_name("NAME");
  add_read(
      app, "--memory",
      [&request](const std::string& text) {
        request.memory = parse_memory(text);
        request.memory_text = text;
      },
      "Bound of each device: a size, none, or min or xFACTOR for what\n"
      "one micro-batch at a time needs; default: none")
      ->type_name("SIZE|min|xFACTOR|none");
  add_choice(
      app, "--objective", request.search.objective,
      {{"makespan", PipelineObjective::kMakespan}, {"span", PipelineObjective::kSpan}},
      "Short from the begin of the step to its end, or on each device\n"
      "from its first operation to its last (no barrier at the end)");
  whole(app.add_option("--steps", request.search.replays, "Replays of the local search")
            ->type_name("N"),
        0)
      ->capture_default_str();
  add_timeout(app, request.timeout,
              "Search no longer than this; the best schedules so far are the\n"
              "answer then, as after an interrupt");
  add_seed(app, request.search.seed, "Of the choices left to chance");
}

/// The value of stage s where there is one for all or one each.
template <class T>
T value_of(const std::vector<T>& values, std::size_t s, T otherwise) {
  return values.empty() ? otherwise : values.size() == 1 ? values[0] : values[s];
}

// Lists that are neither one for all nor one each: without them the stages are defaults.
void check_counts(const PipelineRequest& request, std::size_t stages) {
  std::string message;
  Remedy remedy;
  const auto check = [&](const char* option, std::size_t values) {
    if (values <= 1 || values == stages) return;
    if (message.empty())
      message = fmt::format("{}: {} values for {} stages", option, values, stages);
    remedy = remedy + drop_option(option);
  };
  check("--forward", request.forward.size());
  check("--backward", request.backward.size());
  check("--weight", request.weight.size());
  check("--until-backward", request.until_backward.size());
  check("--until-weight", request.until_weight.size());
  check("--persistent", request.persistent.size());
  if (message.empty()) return;
  if (!request.stages)  // the longest list was to tell
    remedy = remedy + set_option("--stages", fmt::format("{}", stages));
  throw Refused(message, remedy);
}

/// As many as the options say: --stages, else the longest list.
std::size_t count_of(const PipelineRequest& request) {
  if (request.stages) return static_cast<std::size_t>(*request.stages);
  const std::size_t longest =
      std::max({request.forward.size(), request.backward.size(), request.weight.size(),
                request.until_backward.size(), request.until_weight.size(),
                request.persistent.size()});
  if (longest < 2)
    throw Refused("a file of stages, a --chain or --stages is needed",
                  set_option("--stages", "4"));
  return longest;
}

}  // namespace

bool is_sized(const PipelineRequest& request) {
  return !request.file.empty() || !request.chain.empty() ||
         !request.until_backward.empty() || !request.until_weight.empty() ||
         !request.persistent.empty();
}

PipelineFile stages_of(const PipelineRequest& request) {
  if (!request.file.empty()) {
    PipelineFile file = read_pipeline_file(request.file);
    file.transfer = request.transfer.value_or(file.transfer);
    return file;
  }
  const std::size_t count = count_of(request);
  check_counts(request, count);
  constexpr Nanoseconds kUnit = 1'000'000'000;
  std::vector<PipelineStage> stages;
  for (std::size_t s = 0; s < count; ++s) {
    stages.push_back(
        {value_of(request.forward, s, kUnit), value_of(request.backward, s, kUnit),
         value_of(request.weight, s, request.backward.empty() ? kUnit : 0),
         value_of(request.until_backward, s, Bytes{0}),
         value_of(request.until_weight, s, is_sized(request) ? 0 : kMicroBatchUnit),
         value_of(request.persistent, s, Bytes{0})});
  }
  return {std::move(stages), request.transfer.value_or(0)};
}

CLI::App* add_pipeline_options(CLI::App& train_plan, PipelineRequest& request) {
  CLI::App* app = train_plan.add_subcommand(
      "pipeline", "Schedules of a pipeline: how long, how idle, how much memory");
  add_stages(*app, request);
  app->add_option("--chain", request.chain,
                  "Cut this chain into --stages parts, each of which recomputes\n"
                  "what --memory asks for; the file is that of espalier checkpoint")
      ->type_name("FILE");
  add_list(*app, "--weights", request.weights, parse_size, "SIZE",
           "Of a chain's stages, all the time: one for all, or one each");
  add_search(*app, request);
  add_output(*app, "--timeline", request.timeline,
             "Write what each device holds, moment by moment, here (CSV)")
      ->type_name("FILE");
  add_output(*app, "--operations", request.operations,
             "Write every operation with its begin and end here (CSV)")
      ->type_name("FILE");
  add_report(*app, request.page);
  add_json(*app, request.json);
  return app;
}

}  // namespace espalier::cli
