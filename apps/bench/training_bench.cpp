// training_bench MODELS: one training step of each ONNX model in a folder, SGD and Adam,
// batch 1 and 32, and of GPT-2 XL: order and layout here, beside a heuristic order with a
// heuristic layout, and a framework's order with a caching allocator. A Markdown table.

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include "espalier/io/onnx/read_operator_graph.h"
#include "espalier/model/clock.h"
#include "espalier/model/operator_tasks.h"
#include "espalier/training/arrange.h"
#include "espalier/training/fold_constants.h"
#include "espalier/training/training_graph.h"
#include "espalier/training/transformer.h"
#include "training_peers.h"

namespace espalier::bench {
namespace {

struct Row {
  std::string name;
  std::size_t operators = 0;
  Arrangement ours;
  Seconds seconds = 0;
  Bytes heuristics = 0, framework = 0, persistent = 0;
};

double mib(Bytes bytes) { return static_cast<double>(bytes) / (1 << 20); }

Row measure(const std::string& name, const OperatorGraph& model,
            TrainingOptions options) {
  Row row;
  row.name = name;
  const TaskGraph graph = task_graph_of(training_graph(model, options).graph).graph;
  row.operators = graph.size();
  const auto start = Clock::now();
  row.ours = arrange(graph);
  row.seconds = since(start);
  const Violations violations = validate(graph, row.ours);
  if (!violations.empty()) throw std::logic_error(violations.front());
  for (std::size_t d = 0; d < graph.data(); ++d) {
    if (graph.stays(datum_id(d)) && !graph.producer(datum_id(d)))
      row.persistent += graph.size(datum_id(d));
  }
  row.heuristics =
      longest_lived_best_fit(lifetimes(graph, least_memory_order(graph)).buffers);
  options.updates = UpdateTime::kLast;
  const TaskGraph last = task_graph_of(training_graph(model, options).graph).graph;
  row.framework = caching_best_fit(lifetimes(last, last.topological_order()).buffers);
  return row;
}

void print(const Row& row) {
  const Bytes ours = row.ours.layout.capacity_bytes;
  fmt::print(
      "| {} | {} | {:.2f} | {:.2f} | {:.2f} | {} | {:.4f} % | {:.2f} | {:.2f} | "
      "{:.1f} % | {:.1f} % | {:.2f} |\n",
      row.name, row.operators, mib(ours), mib(row.ours.order.least_bytes),
      mib(row.ours.lower_bound_bytes()), row.ours.proved() ? "yes" : "no",
      100 * row.ours.fragmentation(), mib(row.heuristics), mib(row.framework),
      100 * (1 - static_cast<double>(ours) / static_cast<double>(row.heuristics)),
      100 * (1 - static_cast<double>(ours) / static_cast<double>(row.framework)),
      row.seconds);
  std::fflush(stdout);
}

// Less than the peer by how much, on the geometric mean.
double saved(const std::vector<Row>& rows, Bytes Row::*peer, bool activations) {
  double sum = 0;
  for (const Row& row : rows) {
    const Bytes base = activations ? row.persistent : 0;
    sum += std::log(static_cast<double>(row.ours.layout.capacity_bytes - base) /
                    static_cast<double>(row.*peer - base));
  }
  return 100 * (1 - std::exp(sum / static_cast<double>(rows.size())));
}

int run(const std::string& folder, const TrainingOptions& base) {
  fmt::print(
      "| model, optimiser, batch | operators | ours, MiB | peak | bound | proved | "
      "fragmentation | heuristics | framework | below heuristics | below framework "
      "| s |\n|---|---:|---:|---:|---:|---|---:|---:|---:|---:|---:|---:|\n");
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".onnx") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  std::vector<Row> rows;
  const auto add = [&](const std::string& name, const OperatorGraph& model) {
    for (const auto& [text, optimiser] :
         {std::pair("SGD", Optimiser::kSgd), std::pair("Adam", Optimiser::kAdam)}) {
      TrainingOptions options = base;
      options.optimiser = optimiser;
      rows.push_back(measure(fmt::format("{}, {}", name, text), model, options));
      print(rows.back());
    }
  };
  for (const std::string& file : files) {
    for (const std::int64_t batch : {1, 32}) {
      OnnxOptions options;
      options.batch = batch;
      add(fmt::format("{}, {}", std::filesystem::path(file).stem().string(), batch),
          fold_constants(read_operator_graph(file, options)));
    }
  }
  add("GPT-2 XL, 1", transformer(transformer_shape("gpt2-xl")));
  fmt::print(
      "\nGeometric means: {:.1f} % below the heuristics, {:.1f} % below the "
      "framework; without what stays throughout {:.1f} % and {:.1f} %\n",
      saved(rows, &Row::heuristics, false), saved(rows, &Row::framework, false),
      saved(rows, &Row::heuristics, true), saved(rows, &Row::framework, true));
  return 0;
}

}  // namespace
}  // namespace espalier::bench

int main(int argc, char** argv) {
  CLI::App program("Training steps: order and layout, beside heuristics");
  std::string folder;
  espalier::TrainingOptions options;
  program.add_option("MODELS", folder, "A folder with ONNX models")->required();
  program.add_flag("--split", options.split_weight_gradients,
                   "Gradients of inputs and weights by operators of their own");
  program.add_flag("--unfused{false}", options.fused_updates,
                   "Updates with temporaries, as operators of a graph have them");
  CLI11_PARSE(program, argc, argv);
  return espalier::bench::run(folder, options);
}
