#include "training/operators/oracle.h"

#include <cstring>
#include <functional>

#ifdef ESPALIER_WITH_DNNL
#include "training/operators/dnnl_kernels.h"
#endif

namespace espalier::training {
namespace {

using Memory = std::vector<std::byte>;

struct Aligned {
  explicit Aligned(Bytes bytes) : memory(static_cast<std::size_t>(bytes) + 128) {}
  std::byte* data() {
    const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
    return memory.data() + (64 - address % 64) % 64;
  }
  Memory memory;
};

template <class T>
void fill(std::byte* to, const Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    reinterpret_cast<T*>(to)[i] = static_cast<T>(values[i]);
}
template <class T>
void take(const std::byte* from, Values& values) {
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<double>(reinterpret_cast<const T*>(from)[i]);
}

template <class Function>
void by_type(ElementType type, const Function& function) {
  switch (type) {
    case ElementType::kFloat32:
      return function(float{});
    case ElementType::kFloat64:
      return function(double{});
    case ElementType::kInt64:
      return function(std::int64_t{});
    case ElementType::kInt32:
      return function(std::int32_t{});
    default:
      return function(std::uint8_t{});
  }
}

using Make = std::unique_ptr<Kernel> (*)(const OperatorSpec&, const KernelTensors&);

void run_kernel(Make make, const OperatorSpec& spec,
                const std::vector<TensorShape>& inputs,
                const std::vector<TensorShape>& outputs, std::vector<Aligned>& from,
                std::vector<Aligned>& to) {
  const auto kernel =
      make(spec, {{inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}});
  Aligned scratch(kernel->scratch_bytes());
  std::vector<std::byte*> in_places, out_places;
  for (Aligned& each : from) in_places.push_back(each.data());
  for (Aligned& each : to) out_places.push_back(each.data());
  kernel->run({in_places, out_places, scratch.data(), 0, 1});
}

// Through a kernel, where formats are not plain by copies.
std::vector<Values> run_with(Make make, const OperatorSpec& spec,
                             const std::vector<TensorShape>& inputs,
                             const std::vector<TensorShape>& outputs,
                             const std::vector<Values>& values) {
  const auto change_format = [make](Aligned& memory, const TensorShape& from,
                                    const TensorShape& to) {
    if (from.format == to.format) return;
    std::vector<Aligned> source, target;
    source.push_back(std::move(memory));
    target.emplace_back(to.bytes());
    run_kernel(make, {.kind = OperatorKind::kCopy}, {from}, {to}, source, target);
    memory = std::move(target[0]);
  };
  std::vector<Aligned> from, to;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    from.emplace_back(inputs[i].bytes());
    by_type(inputs[i].type,
            [&](auto type) { fill<decltype(type)>(from.back().data(), values[i]); });
    TensorShape plain = inputs[i];
    plain.format = TensorFormat::kPlain;
    change_format(from.back(), plain, inputs[i]);
  }
  for (const TensorShape& shape : outputs) to.emplace_back(shape.bytes());
  run_kernel(make, spec, inputs, outputs, from, to);
  std::vector<Values> results;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    TensorShape plain = outputs[i];
    plain.format = TensorFormat::kPlain;
    change_format(to[i], outputs[i], plain);
    results.emplace_back(static_cast<std::size_t>(outputs[i].elements()));
    by_type(outputs[i].type,
            [&](auto type) { take<decltype(type)>(to[i].data(), results.back()); });
  }
  return results;
}

std::vector<TensorShape> in_double(std::vector<TensorShape> shapes) {
  for (TensorShape& shape : shapes) {
    shape.format = TensorFormat::kPlain;
    if (shape.type == ElementType::kFloat32) shape.type = ElementType::kFloat64;
  }
  return shapes;
}

}  // namespace

Values random_values(const TensorShape& shape, double low, double high,
                     std::mt19937_64& random) {
  std::uniform_real_distribution<double> real(low, high);
  std::uniform_int_distribution<std::int64_t> integer(static_cast<std::int64_t>(low),
                                                      static_cast<std::int64_t>(high));
  Values values(static_cast<std::size_t>(shape.elements()));
  for (double& value : values)
    value = shape.type == ElementType::kFloat32
                ? static_cast<double>(static_cast<float>(real(random)))
                : static_cast<double>(integer(random));
  return values;
}

std::vector<Values> random_inputs(const OperatorCase& test, std::mt19937_64& random) {
  std::vector<Values> inputs;
  for (const TensorShape& shape : test.inputs)
    inputs.push_back(random_values(shape, test.low, test.high, random));
  return inputs;
}

std::vector<Values> run_oracle(const OperatorSpec& spec,
                               const std::vector<TensorShape>& inputs,
                               const std::vector<TensorShape>& outputs,
                               const std::vector<Values>& values) {
  return run_with(make_reference_kernel, spec, in_double(inputs), in_double(outputs),
                  values);
}

#ifdef ESPALIER_WITH_DNNL
std::vector<Values> run_dnnl(const OperatorSpec& spec,
                             const std::vector<TensorShape>& inputs,
                             const std::vector<TensorShape>& outputs,
                             const std::vector<Values>& values) {
  return run_with(make_dnnl_kernel, spec, inputs, outputs, values);
}
#endif

BackwardRun backward_run(const OperatorCase& test, const BackwardCase& backward,
                         const std::vector<Values>& inputs,
                         const std::vector<Values>& outputs, const Values& gradient) {
  BackwardRun run;
  for (const CaseTensor& tensor : backward.reads) {
    switch (tensor.of) {
      case CaseTensor::Of::kInput:
        run.inputs.push_back(test.inputs[tensor.number]);
        run.values.push_back(inputs[tensor.number]);
        break;
      case CaseTensor::Of::kOutput:
        run.inputs.push_back(test.outputs[tensor.number]);
        run.values.push_back(outputs[tensor.number]);
        break;
      case CaseTensor::Of::kGradient:
        run.inputs.push_back(test.outputs[0]);
        run.values.push_back(gradient);
        break;
    }
  }
  for (const std::size_t input : backward.writes)
    run.outputs.push_back(test.inputs[input]);
  return run;
}

}  // namespace espalier::training
