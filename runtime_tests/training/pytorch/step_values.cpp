// step_values MODEL.onnx DIR [BATCH]: one training step of a model through the kernels of
// `espalier train`, each tensor by itself, and what another framework needs to repeat it.
//
// DIR/values holds tensors one after the other, DIR/index a line for each:
//   ROLE <tab> TYPE <tab> extents, with blanks between <tab> offset <tab> NAME
// ROLE is input, parameter, constant or state (as before the step), mask (of a dropout),
// gradient (NAME is the parameter's) or loss.

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>

#include "espalier/io/onnx/read_operator_graph.h"
#include "espalier/training/fold_constants.h"
#include "solver/runtime/runtime.h"
#include "training/operators/dnnl_kernels.h"
#include "training/step/initial_values.h"
#include "training/step/input_values.h"
#include "training/step/kernel_threads.h"
#include "training/step/step_run.h"

namespace espalier::training {
namespace {

constexpr std::uint64_t kSeed = 5;

class Writer {
 public:
  explicit Writer(const std::string& folder)
      : index_(folder + "/index"), values_(folder + "/values", std::ios::binary) {}

  void write(std::string_view role, const Tensor& tensor, std::string_view of,
             const std::byte* bytes) {
    index_ << role << '\t' << name(tensor.type) << '\t';
    for (const std::int64_t extent : tensor.shape) index_ << extent << ' ';
    index_ << '\t' << at_ << '\t' << of << '\n';
    values_.write(reinterpret_cast<const char*>(bytes), tensor.bytes);
    at_ += tensor.bytes;
  }
  void finish() {
    if (!index_.flush() || !values_.flush()) throw Error("the values cannot be written");
  }

 private:
  std::ofstream index_, values_;
  Bytes at_ = 0;
};

std::string_view role_of(TensorRole role) {
  switch (role) {
    case TensorRole::kInput:
      return "input";
    case TensorRole::kParameter:
      return "parameter";
    case TensorRole::kState:
      return "state";
    default:
      return "constant";
  }
}

// Values that are there before the step.
void fill(const TrainingGraph& training, const Placement& placement, Writer& writer) {
  for (std::size_t i = 0; i < training.graph.tensors().size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = training.graph.tensor(id);
    if (tensor.role == TensorRole::kComputed) continue;
    const std::span bytes(placement.tensor(id), static_cast<std::size_t>(tensor.bytes));
    if (tensor.role == TensorRole::kInput)
      fill_input(training, id, kSeed, bytes);
    else
      fill_initial_value(training.graph, id, kSeed, bytes);
    writer.write(role_of(tensor.role), tensor, tensor.name, bytes.data());
  }
}

// A mask lies in the format of what it masks.
std::vector<std::byte> plain(const Tensor& tensor, TensorFormat format, std::byte* from) {
  std::vector<std::byte> to(static_cast<std::size_t>(tensor.bytes));
  const TensorShape shape{ElementType::kUint8, tensor.shape, TensorFormat::kPlain};
  TensorShape own = shape;
  own.format = format;
  const auto copy = make_dnnl_kernel({.kind = OperatorKind::kCopy}, {{own}, {shape}});
  std::vector<std::byte> scratch(static_cast<std::size_t>(copy->scratch_bytes()) + 64);
  std::vector<std::byte*> inputs{from}, outputs{to.data()};
  copy->run({.inputs = inputs, .outputs = outputs, .scratch = scratch.data()});
  return to;
}

// What the step made.
void write_results(const TrainingGraph& training, const Placement& placement,
                   const StepKernels& kernels, Writer& writer) {
  const OperatorGraph& graph = training.graph;
  for (const Operator& op : graph.operators()) {
    if (op.type == "SgdUpdate")
      writer.write("gradient", graph.tensor(*op.input(0)),
                   graph.tensor(*op.input(1)).name, placement.tensor(*op.input(0)));
    if (op.type == "Dropout" && op.output(1))
      writer.write(
          "mask", graph.tensor(*op.output(1)), graph.tensor(*op.output(0)).name,
          plain(graph.tensor(*op.output(1)), kernels.formats[index(*op.output(1))],
                placement.tensor(*op.output(1)))
              .data());
  }
  writer.write("loss", graph.tensor(training.loss), "loss",
               placement.tensor(training.loss));
}

void run(const std::string& model, const std::string& folder,
         std::optional<std::int64_t> batch) {
  use_threads(1);
  const solver::Runtime runtime({.workers = 1});
  const TrainingGraph training = training_step(
      fold_constants(read_operator_graph(model, {.batch = batch})), Optimiser::kSgd);
  StepKernels kernels =
      make_kernels(training.graph, {.update = {.rate = 0}}, make_dnnl_kernel, true);
  const OperatorGraph graph = with_workspaces(training, kernels);
  std::vector<OperatorId> order;
  for (std::size_t i = 0; i < graph.size(); ++i) order.push_back(operator_id(i));
  const Placement placement(graph);
  Writer writer(folder);
  fill(training, placement, writer);
  StepRun step(graph, kernels, order, placement, {.threads = 1, .seed = kSeed});
  const solver::Awake awake(runtime);
  step.run(0);
  write_results(training, placement, kernels, writer);
  writer.finish();
}

}  // namespace
}  // namespace espalier::training

int main(int argc, char** argv) {
  if (argc < 3) {
    std::cerr << "usage: step_values MODEL.onnx DIR [BATCH]\n";
    return 2;
  }
  try {
    espalier::training::run(
        argv[1], argv[2],
        argc > 3 ? std::optional<std::int64_t>(std::atoll(argv[3])) : std::nullopt);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
