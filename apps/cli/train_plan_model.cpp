#include "cli/train_plan_model.h"

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <charconv>
#include <cmath>
#include <map>
#include <memory>

#include "cli/naming.h"
#include "cli/options.h"
#include "cli/plan_processes.h"
#include "espalier/model/error.h"
#include "espalier/sharding/decoder_layers.h"
#include "espalier/sharding/operator_layers.h"
#include "espalier/training/fold_constants.h"
#include "espalier/training/transformer.h"

namespace espalier::cli {
namespace {

Link parse_link(std::string_view text) {
  Network network;
  parse_network(text, network);
  return {network.latency, network.bandwidth};
}

/// "8,1us,300GB/s"
void parse_node(std::string_view text, Cluster& cluster) {
  const std::size_t comma = text.find(',');
  const std::string_view count = text.substr(0, comma);
  std::int32_t size = 0;
  const char* end = count.data() + count.size();
  const auto [stop, error] = std::from_chars(count.data(), end, size);
  if (error != std::errc() || stop != end || size < 1 || comma == std::string_view::npos)
    throw InvalidInput(fmt::format(
        "'{}' is not a node as 8,1us,300GB/s: processes, latency, bandwidth", text));
  cluster.inside = parse_link(text.substr(comma + 1));
  cluster.node_size = size;
}

double parse_rate(std::string_view text) {
  double value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value) || value <= 0)
    throw InvalidInput(
        fmt::format("'{}' is not a number of flops a second as 1e14", text));
  return value;
}

double parse_memory_bandwidth(std::string_view text) {
  Network network;
  parse_network("0s," + std::string(text), network);
  return network.bandwidth;
}

void add_cluster(CLI::App& app, Cluster& cluster) {
  add_read(
      app, "--rate", [&cluster](const std::string& t) { cluster.rate = parse_rate(t); },
      "Flops a second of one process; default: 1e14")
      ->type_name("FLOPS");
  add_read(
      app, "--memory-bandwidth",
      [&cluster](const std::string& t) {
        cluster.memory_bandwidth = parse_memory_bandwidth(t);
      },
      "Of the memory of one process; default: 1500GB/s")
      ->type_name("SIZE/s");
  add_read(
      app, "--network",
      [&cluster](const std::string& t) { cluster.network = parse_link(t); },
      "Latency of a message and bandwidth into a process; default:\n"
      "2us,10GB/s")
      ->type_name("TIME,SIZE/s");
  add_read(
      app, "--node", [&cluster](const std::string& t) { parse_node(t, cluster); },
      "Processes of a node, and latency and bandwidth inside it")
      ->type_name("K,TIME,SIZE/s");
}

}  // namespace

void add_model_options(CLI::App& app, ModelRequest& request) {
  app.add_option("MODEL", request.source.file,
                 "ONNX model (.onnx), divided among data and pipeline alone; or:")
      ->required(false);
  app.add_option("--transformer", request.source.transformer,
                 "gpt2, gpt2-medium, gpt2-large, gpt2-xl, tiny, or what differs\n"
                 "from gpt2: layers=24,width=1024,heads=16,vocabulary=50257,\n"
                 "sequence=1024")
      ->type_name("NAME|SIZES");
  app.add_flag("--fused-attention", request.fused_attention,
               "Attention as one operator without a matrix of sequence x\n"
               "sequence");
  add_choice(app, "--optimiser", request.optimiser,
             {{"adam", "adam"}, {"momentum", "momentum"}, {"sgd", "sgd"}},
             "What is kept beside parameters and gradients");
  add_choice(app, "--precision", request.mixed, {{"mixed", true}, {"single", false}},
             "16-bit parameters, gradients and activations with a 32-bit copy\n"
             "of the parameters, or 32 bits");
  add_cluster(app, request.cluster);
}

OptimiserBytes optimiser_of(const ModelRequest& request) {
  return *optimiser_bytes(request.optimiser, request.mixed);
}

namespace {

TrainingModel transformer_model(const ModelRequest& request) {
  TrainingModel model;
  TransformerShape shape = transformer_shape(request.source.transformer);
  model.parameters = parameters_of(shape);
  shape.fused_attention = request.fused_attention;
  const Bytes element = request.mixed ? 2 : 4;
  model.name = request.source.transformer;
  model.layers = shape.layers + 2;
  model.why_not_split = [shape](std::int32_t tensor) {
    return why_not_split(shape, tensor);
  };
  model.split = [shape, element](std::int32_t tensor, std::int64_t micro_batch) {
    return decoder_layers(shape, {tensor, micro_batch, element});
  };
  return model;
}

// Read again for every size of micro-batches, each once.
TrainingModel file_model(const ModelRequest& request) {
  using Layers = std::map<std::int64_t, LayeredModel>;
  TrainingModel model;
  model.name = request.source.file;
  model.why_not_split = [](std::int32_t tensor) {
    return tensor == 1 ? "" : "operators of a file are not divided";
  };
  const auto known = std::make_shared<Layers>();
  model.split = [source = request.source, halved = request.mixed, known](
                    std::int32_t, std::int64_t micro_batch) mutable {
    const auto found = known->find(micro_batch);
    if (found != known->end()) return found->second;
    source.batch = micro_batch;
    const OperatorGraph graph = fold_constants(read_model(source));
    return naming<Error>(source.file, [&] {
      return (*known)[micro_batch] = operator_layers(graph, {64, halved});
    });
  };
  const LayeredModel one = model.split(1, 1);
  model.layers = one.size();
  model.parameters = parameters_of(one);
  return model;
}

}  // namespace

std::optional<SourceMistake> mistake_of(const GraphSource& source) {
  GraphSource instead = source;
  if (source.file.empty() == source.transformer.empty()) {
    const bool none = source.file.empty();
    instead.transformer = none ? "tiny" : "";
    return SourceMistake{
        "a MODEL or --transformer is needed, and one of them",
        none ? set_option("--transformer", "tiny") : drop_option("--transformer"),
        std::move(instead)};
  }
  if (!source.file.empty()) return std::nullopt;
  try {
    (void)parameters_of(transformer_shape(source.transformer));
  } catch (const Error& error) {
    instead.transformer = "gpt2";
    return SourceMistake{fmt::format("--transformer: {}", error.what()),
                         set_option("--transformer", "gpt2"), std::move(instead)};
  }
  return std::nullopt;
}

TrainingModel training_model(const ModelRequest& request) {
  if (const auto mistake = mistake_of(request.source))
    throw Refused(mistake->message, mistake->remedy);
  return request.source.file.empty() ? transformer_model(request) : file_model(request);
}

}  // namespace espalier::cli
