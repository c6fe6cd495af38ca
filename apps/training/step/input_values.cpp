#include "training/step/input_values.h"

#include <fmt/format.h>

#include "espalier/model/error.h"
#include "training/step/random_numbers.h"

namespace espalier::training {
namespace {

// Whole numbers of an input are below this; 0: nothing says so.
std::int64_t limit_of(const OperatorGraph& graph, TensorId id) {
  for (const OperatorId reader : graph.readers(id)) {
    const Operator& op = graph.op(reader);
    if (op.type == "Gather" && op.input(1) == id) {
      const Shape& table = graph.tensor(*op.input(0)).shape;
      const std::int64_t axis = op.integer("axis", 0);
      return table.at(
          static_cast<std::size_t>(axis < 0 ? axis + std::ssize(table) : axis));
    }
    if (op.type != "SoftmaxCrossEntropyLoss" || op.input(1) != id) continue;
    const Shape& scores = graph.tensor(*op.input(0)).shape;
    const std::int64_t axis = op.integer("axis", 1);
    std::int64_t classes = 1;
    for (std::size_t i =
             static_cast<std::size_t>(axis < 0 ? axis + std::ssize(scores) : axis);
         i < scores.size(); ++i)
      classes = checked_mul(classes, scores[i]);
    return classes;
  }
  return 0;
}

}  // namespace

void fill_input(const TrainingGraph& training, TensorId id, std::uint64_t seed,
                std::span<std::byte> bytes) {
  const Tensor& tensor = training.graph.tensor(id);
  const std::uint64_t own = seed_of(seed, tensor.name);
  if (tensor.type == ElementType::kFloat32)
    return fill_normal(own, 1,
                       {reinterpret_cast<float*>(bytes.data()), bytes.size() / 4});
  const std::int64_t limit = limit_of(training.graph, id);
  if (tensor.type != ElementType::kInt64 || limit < 1)
    throw InvalidInput(
        fmt::format("{} of type {} is an input that nothing is known to fill with",
                    label(tensor), name(tensor.type)));
  fill_uniform(own, limit,
               {reinterpret_cast<std::int64_t*>(bytes.data()), bytes.size() / 8});
}

}  // namespace espalier::training
