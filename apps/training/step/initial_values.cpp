#include "training/step/initial_values.h"

#include <cmath>
#include <cstring>
#include <optional>
#include <vector>

#include "training/step/random_numbers.h"

namespace espalier::training {
namespace {

enum class Start : std::int8_t { kZeros, kOnes, kWeights, kTable };

// By a reader; nothing: it does not say.
std::optional<Start> start_for(const OperatorGraph& graph, const Operator& op,
                               TensorId id, double& deviation) {
  const Shape& shape = graph.tensor(id).shape;
  const bool second = op.input(1) == id, first = op.input(0) == id;
  const auto elements = static_cast<double>(element_count(shape));
  if (op.type.starts_with("Conv") && second) {
    const std::int64_t results = shape[op.type == "Conv" ? 0 : 1];
    deviation = std::sqrt(2 * static_cast<double>(results) / elements);
    return Start::kWeights;
  }
  if (op.type == "MatMul" && shape.size() == 1 && (first || second)) {
    deviation = std::sqrt(2 / elements);
    return Start::kWeights;
  }
  if ((op.type == "Gemm" || op.type == "MatMul") && shape.size() >= 2 &&
      (first || second)) {
    const bool transposed = op.integer(second ? "transB" : "transA", 0) != 0;
    const std::size_t inner = shape.size() - (transposed == second ? 1 : 2);
    deviation = std::sqrt(2 / static_cast<double>(shape[inner]));
    return Start::kWeights;
  }
  if (op.type == "Gather" && first) return Start::kTable;
  if (op.type.ends_with("Normalization") && second) return Start::kOnes;
  if (op.type == "BatchNormalization" && op.input(4) == id) return Start::kOnes;
  if (op.type == "Mul") return Start::kOnes;
  return std::nullopt;
}

// By the first reader that says something, of the tensor or of what shows its elements.
Start start_of(const OperatorGraph& graph, TensorId id, double& deviation) {
  std::vector<TensorId> seen = {id};
  for (std::size_t i = 0; i < seen.size(); ++i) {
    for (const OperatorId reader : graph.readers(seen[i])) {
      const Operator& op = graph.op(reader);
      if (const auto start = start_for(graph, op, seen[i], deviation)) return *start;
      const auto shown = op.output(0);
      if (!shown || op.input(0) != seen[i]) continue;
      const bool moves =
          op.type == "Transpose" || op.type == "Expand" || op.type == "Identity";
      if (moves || graph.tensor(*shown).sharing == Sharing::kView) seen.push_back(*shown);
    }
  }
  return graph.tensor(id).shape.size() >= 2 ? Start::kTable : Start::kZeros;
}

// A part goes through memory for the whole, for a moment.
void read_part(const Tensor& tensor, std::span<std::byte> bytes, std::int64_t first,
               const ElementRuns& runs) {
  if (std::ssize(bytes) == tensor.bytes) return tensor.value->read(bytes);
  std::vector<std::byte> whole(static_cast<std::size_t>(tensor.bytes));
  tensor.value->read(whole);
  const auto each = static_cast<std::size_t>(tensor_bytes(tensor.type, {1}));
  for (std::size_t i = 0; i < bytes.size() / each; ++i) {
    const auto at =
        static_cast<std::size_t>(runs.place(first + static_cast<std::int64_t>(i)));
    std::memcpy(bytes.data() + i * each, whole.data() + at * each, each);
  }
}

}  // namespace

void fill_initial_value(const OperatorGraph& graph, TensorId id, std::uint64_t seed,
                        std::span<std::byte> bytes, std::int64_t first,
                        const ElementRuns& runs) {
  const Tensor& tensor = graph.tensor(id);
  const bool chosen = tensor.role == TensorRole::kParameter &&
                      tensor.type == ElementType::kFloat32 &&
                      (!tensor.value || tensor.value->repeated_element() != nullptr);
  if (tensor.value && !chosen) return read_part(tensor, bytes, first, runs);
  std::memset(bytes.data(), 0, bytes.size());
  if (!chosen) return;
  double deviation = 0.02;
  const Start start = start_of(graph, id, deviation);
  const std::span values(reinterpret_cast<float*>(bytes.data()),
                         bytes.size() / sizeof(float));
  if (start == Start::kOnes) std::ranges::fill(values, 1.0F);
  if (start == Start::kWeights || start == Start::kTable)
    fill_normal(seed_of(seed, tensor.name), deviation, values, first, runs);
}

}  // namespace espalier::training
