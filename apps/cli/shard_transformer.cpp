#include "cli/shard_transformer.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/number_option.h"
#include "cli/options.h"
#include "cli/output.h"
#include "espalier/io/text_file.h"
#include "espalier/model/clock.h"
#include "espalier/model/error.h"
#include "espalier/model/exact_size.h"
#include "espalier/sharding/shard_model.h"
#include "espalier/sharding/zero.h"

namespace espalier::cli {
namespace {

ShardedModel model_of(const TransformerRequest& request) {
  ShardingSetting setting;
  setting.mesh = mesh_of(request);
  setting.flops_a_second = request.rate;
  setting.bytes_a_parameter = optimiser_bytes(request.optimiser, true)->all();
  setting.sequences = request.batch > 0 ? request.batch : setting.mesh.devices();
  Transformer transformer = refusing(set_option("--transformer", "gpt2"),
                                     [&] { return transformer_named(request.name); });
  if (request.layers > 0) transformer.layers = request.layers;
  return sharded_transformer(transformer, setting);
}

const OperatorWay& way_of(const ShardedModel& model, const ModelShards& shards,
                          std::size_t k, std::size_t i) {
  const ModelPart& part = model.parts[static_cast<std::size_t>(model.sequence[k])];
  return part.operators[i].ways[static_cast<std::size_t>(shards.ways[k][i])];
}

// A list by part of the sequence: operators and how each is computed.
void write_ways(const std::string& path, const ShardedModel& model,
                const ModelShards& shards) {
  nlohmann::ordered_json parts = nlohmann::ordered_json::array();
  for (std::size_t k = 0; k < shards.ways.size(); ++k) {
    nlohmann::ordered_json part = nlohmann::ordered_json::object();
    for (std::size_t i = 0; i < shards.ways[k].size(); ++i) {
      const ModelPart& known = model.parts[static_cast<std::size_t>(model.sequence[k])];
      part[known.operators[i].name] = way_of(model, shards, k, i).name;
    }
    parts.push_back(std::move(part));
  }
  write_file(path, [&](std::ostream& out) { out << dump(parts); });
}

void report_ways(Report& report, const ShardedModel& model, const ModelShards& shards) {
  report.heading("First block");
  for (std::size_t k = 0; k < std::min<std::size_t>(2, shards.ways.size()); ++k) {
    const ModelPart& part = model.parts[static_cast<std::size_t>(model.sequence[k])];
    for (std::size_t i = 1; i < part.operators.size(); ++i)
      report.text(part.operators[i].name, part.operators[i].name,
                  way_of(model, shards, k, i).name);
  }
}

}  // namespace

void add_transformer(CLI::App& app, TransformerRequest& request) {
  app.add_option("--transformer", request.name,
                 "Plan this instead of a file: gpt2, gpt2-medium, gpt2-large\n"
                 "or gpt2-xl")
      ->type_name("NAME");
  add_read(
      app, "--mesh",
      [&request](const std::string& text) { request.mesh = parse_mesh(text); },
      "Devices along each axis, as 8x8; default: 1")
      ->type_name("KxK");
  add_choice(app, "--training", request.optimiser,
             {{"adam", "adam"}, {"momentum", "momentum"}, {"sgd", "sgd"}},
             "Whose state is held beside parameters and gradients");
  whole(app.add_option("--batch", request.batch,
                       "Sequences a step, default: one a device; of an ONNX model\n"
                       "the first extent of its inputs")
            ->type_name("N"),
        1);
  whole(app.add_option("--layers", request.layers, "Instead of the transformer's")
            ->type_name("N"),
        1);
  above_zero(
      app.add_option("--bandwidth", request.bandwidth, "Of an axis, bytes a second"))
      ->capture_default_str();
  from_zero(
      app.add_option("--latency", request.latency, "Of a message along an axis, seconds"))
      ->capture_default_str();
  above_zero(app.add_option("--rate", request.rate, "Of a device, flops a second"))
      ->capture_default_str();
}

Mesh mesh_of(const TransformerRequest& request) {
  Mesh mesh = request.mesh;
  for (MeshAxis& axis : mesh.axes) axis.link = {request.latency, request.bandwidth};
  return mesh;
}

Ending shard_transformer(const TransformerRequest& request, std::optional<Bytes> memory,
                         const std::string& solution, bool json) {
  const Clock::time_point start = Clock::now();
  const ShardedModel model = model_of(request);
  const Bytes limit = memory.value_or(std::numeric_limits<Bytes>::max());
  const ModelShards shards = shard_model(model, limit);
  const Seconds seconds = since(start);
  Report report;
  report.text("input", "transformer", request.name);
  report.count("devices", "devices", model.setting.mesh.devices());
  report.count("parts", "parts", std::ssize(model.sequence));
  report.count("distinct_parts", "distinct parts", shards.distinct_parts);
  if (!shards.found) {
    const Bytes least = shards.least_memory_bytes;
    const Infeasible no{Infeasible::Reason::kImpossible, limit, least, least};
    print_refusal(std::move(report), no, json,
                  fmt::format("no plan is possible within {}; {} suffices",
                              size_with_bytes(limit), size_with_bytes(least)));
    return {kNo, raise_memory(least)};
  }
  if (!solution.empty()) write_ways(solution, model, shards);
  report.heading("Answer");
  report.count("cost", "picoseconds a step", shards.cost);
  report.count("lower_bound", "no plan takes less than", shards.lower_bound);
  report.flag("proved", "proved the least", shards.proved());
  report.seconds("step_seconds", "a step takes", double(shards.cost) * 1e-12);
  report.bytes("memory_bytes", "on the fullest device", shards.memory_bytes);
  report_ways(report, model, shards);
  report.heading("Search");
  report.seconds("seconds", "searched", seconds);
  report.print(json);
  return kDone;
}

}  // namespace espalier::cli
