#include "training/operators/dnnl_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "espalier/model/error.h"

namespace espalier::training {
namespace {

using dnnl::memory;

constexpr Bytes kAlignment = 64;

Bytes aligned(Bytes bytes) {
  return checked_add(bytes, kAlignment - 1) / kAlignment * kAlignment;
}

memory::data_type type_of(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return memory::data_type::f32;
    case ElementType::kInt32:
      return memory::data_type::s32;
    case ElementType::kUint8:
      return memory::data_type::u8;
    default:
      throw InvalidInput(fmt::format("oneDNN has no elements of type {}", name(type)));
  }
}

memory::dims plain_strides(const memory::dims& dims) {
  memory::dims strides(dims.size(), 1);
  for (std::size_t i = dims.size() - 1; i > 0; --i)
    strides[i - 1] = strides[i] * std::max<std::int64_t>(1, dims[i]);
  return strides;
}

}  // namespace

const dnnl::engine& dnnl_engine() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::primitive_attr dnnl_attributes() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

memory::desc describe_memory(const TensorShape& shape) {
  switch (shape.format) {
    case TensorFormat::kChannelsLast:
      return {shape.dims, type_of(shape.type), memory::format_tag::nhwc};
    case TensorFormat::kBlocked16:
      return {shape.dims, type_of(shape.type), memory::format_tag::nChw16c};
    case TensorFormat::kPlain:
      break;
  }
  return plain_memory(shape.dims, shape.type);
}

memory::desc plain_memory(const std::vector<std::int64_t>& dims, ElementType type) {
  const memory::dims all = dims.empty() ? memory::dims{1} : memory::dims(dims);
  return {all, type_of(type), plain_strides(all)};
}

void check_extent(std::int64_t extent) {
  if (extent > std::numeric_limits<std::int32_t>::max())
    throw InvalidInput(fmt::format("an extent of {}: oneDNN counts to 2^31 - 1", extent));
}

memory::desc any_memory(const std::vector<std::int64_t>& dims) {
  return {dims, memory::data_type::f32, memory::format_tag::any};
}

namespace {

// Whether the weights of six small convolutions are the same after they were in a padded
// format. Where the processor does not tell how large its caches are, as some virtual
// ones do not, oneDNN 3 leaves some out there, and elsewhere divides by zero.
bool keeps_padded_entries() {
  dnnl::stream stream(dnnl_engine());
  std::vector<float> given(6 * 3 * 3), found(given.size());
  std::iota(given.begin(), given.end(), 1.0F);
  const memory::dims dims{6, 1, 1, 3, 3};
  memory from(plain_memory(dims), dnnl_engine(), given.data());
  memory to(plain_memory(dims), dnnl_engine(), found.data());
  for (const auto tag :
       {memory::format_tag::aBCde16b16c, memory::format_tag::aBCde8b8c}) {
    memory padded({dims, memory::data_type::f32, tag}, dnnl_engine());
    dnnl::reorder(from, padded).execute(stream, from, padded);
    dnnl::reorder(padded, to).execute(stream, padded, to);
    stream.wait();
    if (found != given) return false;
  }
  return true;
}

// Better no gradient than a wrong one.
void check_entries() {
  static const bool kept = keeps_padded_entries();
  if (kept) return;
  const dnnl_version_t& version = *dnnl_version();
  throw Error(fmt::format(
      "oneDNN {}.{}.{} loses entries of tensors on this processor, which does "
      "not tell the size of its caches",
      version.major, version.minor, version.patch));
}

}  // namespace

DnnlProgram::DnnlProgram() : stream_(dnnl_engine()) { check_entries(); }

Operand DnnlProgram::scratch(const memory::desc& memory) {
  const Operand place{Operand::Place::kScratch, kept_};
  kept_ = checked_add(kept_, aligned(static_cast<Bytes>(memory.get_size())));
  return place;
}

Operand DnnlProgram::reordered(Operand operand, const memory::desc& memory,
                               const dnnl::memory::desc& wanted) {
  if (memory == wanted) return operand;
  const Operand place = scratch(wanted);
  add_reorder(operand, memory, place, wanted);
  return place;
}

void DnnlProgram::add_reorder(Operand from, const memory::desc& from_memory, Operand to,
                              const memory::desc& to_memory) {
  const dnnl::reorder::primitive_desc description(
      dnnl_engine(), from_memory, dnnl_engine(), to_memory, dnnl_attributes());
  add(description, dnnl::reorder(description),
      {{DNNL_ARG_FROM, from_memory, from}, {DNNL_ARG_TO, to_memory, to}});
}

void DnnlProgram::add_step(const dnnl::primitive& primitive,
                           std::vector<Argument> arguments,
                           const memory::desc& scratchpad) {
  Step step{.primitive = primitive, .arguments = {}, .bound = {}};
  constexpr std::int64_t kShared = -1;
  if (scratchpad.get_size() > 0) {
    arguments.push_back(
        {DNNL_ARG_SCRATCHPAD, scratchpad, {Operand::Place::kScratch, kShared}});
    shared_ = std::max(shared_, aligned(static_cast<Bytes>(scratchpad.get_size())));
  }
  for (const Argument& argument : arguments) {
    const memory placed(argument.memory, dnnl_engine(), DNNL_MEMORY_NONE);
    step.arguments.emplace(argument.name, placed);
    step.bound.push_back({placed, argument.operand});
  }
  steps_.push_back(std::move(step));
}

void DnnlProgram::run(const KernelCall& call) {
  const auto address = [&](const Operand& operand) {
    const auto number = static_cast<std::size_t>(operand.at);
    switch (operand.place) {
      case Operand::Place::kInput:
        return call.inputs[number];
      case Operand::Place::kOutput:
        return call.outputs[number];
      case Operand::Place::kScratch:
        break;
    }
    return call.scratch + (operand.at < 0 ? kept_ : operand.at);
  };
  for (Step& step : steps_) {
    for (Bound& bound : step.bound) place(bound.memory, address(bound.operand), stream_);
    step.primitive.execute(stream_, step.arguments);
  }
  stream_.wait();
}

}  // namespace espalier::training
