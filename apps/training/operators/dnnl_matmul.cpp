#include <fmt/format.h>

#include "espalier/model/error.h"
#include "training/operators/dnnl_program.h"
#include "training/operators/matmul_shape.h"

namespace espalier::training {
namespace {

using dnnl::memory;
using Dims = std::vector<std::int64_t>;

// A matrix of rows x columns for each batch, stored the other way round if transposed.
memory::desc matrices(const Dims& batch, std::int64_t rows, std::int64_t columns,
                      bool transposed) {
  Dims dims = batch;
  dims.push_back(rows);
  dims.push_back(columns);
  if (!transposed) return plain_memory(dims);
  memory::dims strides(dims.size());
  std::int64_t stride = checked_mul(rows, columns);
  for (std::size_t i = batch.size(); i-- > 0;) {
    strides[i] = stride;
    stride = checked_mul(stride, batch[i]);
  }
  strides[dims.size() - 2] = 1;
  strides[dims.size() - 1] = rows;
  return {dims, memory::data_type::f32, strides};
}

// Whether c is one row for all: then it is a bias, which is faster.
bool is_row(const MatMulShape& shape) {
  for (std::size_t i = 0; i + 1 < shape.c_dims.size(); ++i)
    if (shape.c_dims[i] != 1) return false;
  return shape.c_dims.back() == shape.n;
}

}  // namespace

std::unique_ptr<Kernel> make_dnnl_matmul(const OperatorSpec& spec,
                                         const KernelTensors& tensors) {
  if (spec.kind != OperatorKind::kMatMul) return nullptr;
  const MatMulShape shape = matmul_shape(spec, tensors);
  for (const std::int64_t extent : {shape.m, shape.n, shape.k}) check_extent(extent);
  const memory::desc a = matrices(shape.a_batch, shape.m, shape.k, shape.transpose_a);
  const memory::desc b = matrices(shape.b_batch, shape.k, shape.n, shape.transpose_b);
  const memory::desc y = matrices(shape.y_batch, shape.m, shape.n, false);
  const bool addend = !shape.c_dims.empty();
  const bool bias = addend && spec.alpha == 1 && is_row(shape);
  dnnl::primitive_attr attributes = dnnl_attributes();
  dnnl::post_ops after;
  if (spec.alpha != 1) scale_results(attributes, after, static_cast<float>(spec.alpha));
  memory::desc c;
  if (addend) c = plain_memory(shape.c_dims);
  if (addend && !bias) after.append_binary(dnnl::algorithm::binary_add, c);
  attributes.set_post_ops(after);
  const auto description = bias ? describe_with<dnnl::matmul>(attributes, a, b, c, y)
                                : describe_with<dnnl::matmul>(attributes, a, b, y);
  auto program = std::make_unique<DnnlProgram>();
  std::vector<DnnlProgram::Argument> arguments = {
      {DNNL_ARG_SRC, a, Operand::input(0)},
      {DNNL_ARG_WEIGHTS, b, Operand::input(1)},
      {DNNL_ARG_DST, y, Operand::output(0)}};
  if (bias) arguments.push_back({DNNL_ARG_BIAS, c, Operand::input(2)});
  if (addend && !bias)
    arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(after.len() - 1) | DNNL_ARG_SRC_1,
                         c, Operand::input(2)});
  program->add(description, dnnl::matmul(description), arguments);
  return program;
}

}  // namespace espalier::training
