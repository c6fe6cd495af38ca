// step_values MODEL.onnx DIR [--batch N] [--double]: one training step of a model through
// the kernels of `espalier train`, each tensor by itself, and what another framework
// needs to repeat it. --double: through the oracle, plain loops in double precision.
//
// DIR/values holds tensors one after the other, DIR/index a line for each:
//   ROLE <tab> TYPE <tab> extents, with blanks between <tab> offset <tab> NAME
// ROLE is input, parameter, constant or state (as before the step), mask (of a dropout),
// open (where the result of a Relu is above 0), pooled (what a MaxPool chose from),
// gradient (NAME is the parameter's) or loss. NAME of a mask, of what is open and of what
// was pooled is the result's.

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
#include "training/step/networks.h"
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
    write(role, tensor.type, tensor.shape, of,
          {bytes, static_cast<std::size_t>(tensor.bytes)});
  }
  void write(std::string_view role, ElementType type, const Shape& shape,
             std::string_view of, std::span<const std::byte> bytes) {
    index_ << role << '\t' << name(type) << '\t';
    for (const std::int64_t extent : shape) index_ << extent << ' ';
    index_ << '\t' << at_ << '\t' << of << '\n';
    values_.write(reinterpret_cast<const char*>(bytes.data()),
                  static_cast<std::streamsize>(bytes.size()));
    at_ += std::ssize(bytes);
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
void write_start(const TrainingGraph& training, Writer& writer) {
  for (std::size_t i = 0; i < training.graph.tensors().size(); ++i) {
    const TensorId id = tensor_id(i);
    const Tensor& tensor = training.graph.tensor(id);
    if (tensor.role == TensorRole::kComputed) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.bytes));
    if (tensor.role == TensorRole::kInput)
      fill_input(training, id, kSeed, bytes);
    else
      fill_initial_value(training.graph, id, kSeed, bytes);
    writer.write(role_of(tensor.role), tensor, tensor.name, bytes.data());
  }
}

// One step in single precision.
class SingleStep {
 public:
  explicit SingleStep(const TrainingGraph& training)
      : kernels_(make_kernels(training.graph, {.update = {.rate = 0}}, make_dnnl_kernel,
                              true)),
        graph_(with_workspaces(training, kernels_)),
        placement_(graph_) {
    for (std::size_t i = 0; i < graph_.tensors().size(); ++i)
      fill(training, tensor_id(i));
    std::vector<OperatorId> order;
    for (std::size_t i = 0; i < graph_.size(); ++i) order.push_back(operator_id(i));
    const solver::Runtime runtime({.workers = 1});
    StepRun step(graph_, kernels_, order, placement_, {.threads = 1, .seed = kSeed});
    const solver::Awake awake(runtime);
    step.run(0);
  }

  void write(std::string_view role, TensorId id, std::string_view of,
             Writer& writer) const {
    writer.write(role, graph_.tensor(id), of, plain(id).data());
  }
  // Masks, and on which side of a step each result is.
  void write_sides(Writer& writer) const {
    for (const Operator& op : graph_.operators()) {
      if (op.type != "Dropout" && op.type != "Relu" && op.type != "MaxPool") continue;
      const std::string& name = graph_.tensor(*op.output(0)).name;
      if (op.type == "Dropout" && op.output(1))
        write("mask", *op.output(1), name, writer);
      if (op.type == "Relu") write_open(*op.output(0), writer);
      if (op.type == "MaxPool") write("pooled", kept(*op.input(0)), name, writer);
    }
  }

 private:
  void fill(const TrainingGraph& training, TensorId id) {
    const Tensor& tensor = graph_.tensor(id);
    const std::span bytes(placement_.tensor(id), static_cast<std::size_t>(tensor.bytes));
    if (tensor.role == TensorRole::kInput)
      fill_input(training, id, kSeed, bytes);
    else if (tensor.role != TensorRole::kComputed)
      fill_initial_value(graph_, id, kSeed, bytes);
  }

  // What is read after the step must not have been overwritten.
  [[nodiscard]] TensorId kept(TensorId id) const {
    for (const Tensor& tensor : graph_.tensors())
      if (tensor.sharing == Sharing::kOverwrite &&
          graph_.version(tensor.shared_with) == graph_.version(id))
        throw Error(fmt::format("'{}' is overwritten", graph_.tensor(id).name));
    return id;
  }

  // In the plain format.
  [[nodiscard]] std::vector<std::byte> plain(TensorId id) const {
    const Tensor& tensor = graph_.tensor(id);
    std::vector<std::byte> to(static_cast<std::size_t>(tensor.bytes));
    const ElementType type =
        tensor.type == ElementType::kFloat32 ? tensor.type : ElementType::kUint8;
    TensorShape own{type, tensor.shape, kernels_.formats[index(id)]};
    const TensorShape shape{type, tensor.shape, TensorFormat::kPlain};
    const auto copy = make_dnnl_kernel({.kind = OperatorKind::kCopy}, {{own}, {shape}});
    std::vector<std::byte> scratch(static_cast<std::size_t>(copy->scratch_bytes()) + 64);
    std::vector<std::byte*> inputs{placement_.tensor(id)}, outputs{to.data()};
    copy->run({.inputs = inputs, .outputs = outputs, .scratch = scratch.data()});
    return to;
  }

  void write_open(TensorId id, Writer& writer) const {
    const Tensor& tensor = graph_.tensor(kept(id));
    const std::vector<std::byte> bytes = plain(id);
    std::vector<std::byte> open;
    for (const float value : floats(bytes.data(), tensor))
      open.push_back(static_cast<std::byte>(value > 0));
    writer.write("open", ElementType::kUint8, tensor.shape, tensor.name, open);
  }

  StepKernels kernels_;
  OperatorGraph graph_;
  Placement placement_;
};

// What the step made, by write(role, id, name).
template <class Write>
void write_results(const TrainingGraph& training, const Write& write) {
  for (const Operator& op : training.graph.operators())
    if (op.type == "SgdUpdate")
      write("gradient", *op.input(0), training.graph.tensor(*op.input(1)).name);
  write("loss", training.loss, "loss");
}

void run_in_single(const TrainingGraph& training, Writer& writer) {
  const SingleStep step(training);
  step.write_sides(writer);
  write_results(training, [&](auto role, TensorId id, const std::string& of) {
    step.write(role, id, of, writer);
  });
}

// A dropout's mask is a byte an element.
void write_oracle_masks(const TrainingGraph& training, const OracleStep& step,
                        Writer& writer) {
  for (const Operator& op : training.graph.operators())
    if (op.type == "Dropout" && op.output(1))
      writer.write("mask", training.graph.tensor(*op.output(1)),
                   training.graph.tensor(*op.output(0)).name,
                   reinterpret_cast<const std::byte*>(step.values(*op.output(1))));
}

void run_in_double(const TrainingGraph& training, Writer& writer) {
  OracleStep step(training, {.update = {.rate = 0}}, kSeed);
  step.run(0);
  write_oracle_masks(training, step, writer);
  write_results(training, [&](auto role, TensorId id, const std::string& of) {
    const Shape& shape = training.graph.tensor(id).shape;
    const std::span values(step.values(id),
                           static_cast<std::size_t>(element_count(shape)));
    writer.write(role, ElementType::kFloat64, shape, of, std::as_bytes(values));
  });
}

struct Options {
  std::string model, folder;
  std::optional<std::int64_t> batch = {};
  bool in_double = false;
};

std::optional<Options> options_of(std::span<char*> arguments) {
  if (arguments.size() < 3) return std::nullopt;
  Options options{arguments[1], arguments[2]};
  for (std::size_t i = 3; i < arguments.size(); ++i) {
    const std::string_view option = arguments[i];
    if (option == "--double")
      options.in_double = true;
    else if (option == "--batch" && i + 1 < arguments.size())
      options.batch = std::atoll(arguments[++i]);
    else
      return std::nullopt;
  }
  return options;
}

void run(const Options& options) {
  use_threads(1);
  const TrainingGraph training = training_step(
      fold_constants(read_operator_graph(options.model, {.batch = options.batch})),
      Optimiser::kSgd);
  Writer writer(options.folder);
  write_start(training, writer);
  options.in_double ? run_in_double(training, writer) : run_in_single(training, writer);
  writer.finish();
}

}  // namespace
}  // namespace espalier::training

int main(int argc, char** argv) {
  const auto options =
      espalier::training::options_of({argv, static_cast<std::size_t>(argc)});
  if (!options) {
    std::cerr << "usage: step_values MODEL.onnx DIR [--batch N] [--double]\n";
    return 2;
  }
  try {
    espalier::training::run(*options);
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 1;
  }
  return 0;
}
