#include "training/operators/matmul_shape.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::training {
namespace {

using Dims = std::vector<std::int64_t>;

std::int64_t product(const Dims& dims) {
  std::int64_t all = 1;
  for (const std::int64_t dim : dims) all = checked_mul(all, dim);
  return all;
}

Dims batch_of(const TensorShape& shape) {
  if (shape.rank() < 2)
    throw InvalidInput(fmt::format("a matrix of shape {}", describe(shape)));
  return {shape.dims.begin(), shape.dims.end() - 2};
}

void lead_with_ones(Dims& dims, std::size_t rank) {
  dims.insert(dims.begin(), rank - std::min(rank, dims.size()), 1);
}

// Rows of all batches are rows of one matrix where b is one matrix.
void join_rows(MatMulShape& shape) {
  if (shape.transpose_a || product(shape.b_batch) != 1 || shape.a_batch != shape.y_batch)
    return;
  shape.m = checked_mul(shape.m, product(shape.y_batch));
  shape.a_batch = shape.b_batch = shape.y_batch = {};
}

// A sum over batches of products a^T b is one product.
void join_inner(MatMulShape& shape) {
  if (product(shape.y_batch) != 1 || shape.a_batch != shape.b_batch) return;
  const std::int64_t count = product(shape.a_batch);
  if (count > 1 && (!shape.transpose_a || shape.transpose_b))
    throw InvalidInput("a sum over batches is only known of a transposed times b");
  shape.k = checked_mul(shape.k, count);
  shape.a_batch = shape.b_batch = shape.y_batch = {};
}

void check_batches(const MatMulShape& shape) {
  for (std::size_t i = 0; i < shape.y_batch.size(); ++i) {
    const std::int64_t y = shape.y_batch[i];
    const std::int64_t a = shape.a_batch[i], b = shape.b_batch[i];
    if ((a != y && a != 1) || (b != y && b != 1) || std::max(a, b) != y)
      throw InvalidInput(fmt::format(
          "batches {} and {} make no batch of {} (dimension {})", a, b, y, i));
  }
}

}  // namespace

MatMulShape matmul_shape(const OperatorSpec& spec, const KernelTensors& tensors) {
  const TensorShape &a = tensors.input(0), &b = tensors.input(1), &y = tensors.output(0);
  MatMulShape shape{.a_batch = batch_of(a),
                    .b_batch = batch_of(b),
                    .y_batch = batch_of(y),
                    .m = a.dim(spec.transpose_a ? -1 : -2),
                    .n = b.dim(spec.transpose_b ? -2 : -1),
                    .k = a.dim(spec.transpose_a ? -2 : -1),
                    .transpose_a = spec.transpose_a,
                    .transpose_b = spec.transpose_b,
                    .c_dims = {}};
  if (b.dim(spec.transpose_b ? -1 : -2) != shape.k || y.dim(-2) != shape.m ||
      y.dim(-1) != shape.n)
    throw InvalidInput(fmt::format("a product of {} and {} is not {}", describe(a),
                                   describe(b), describe(y)));
  const std::size_t rank =
      std::max({shape.a_batch.size(), shape.b_batch.size(), shape.y_batch.size()});
  for (Dims* batch : {&shape.a_batch, &shape.b_batch, &shape.y_batch})
    lead_with_ones(*batch, rank);
  join_rows(shape);
  join_inner(shape);
  check_batches(shape);
  if (tensors.has_input(2)) {
    shape.c_dims = tensors.input(2).dims;
    if (std::ssize(shape.c_dims) > shape.rank() ||
        (shape.rank() < y.rank() && product(shape.c_dims) != tensors.input(2).dim(-1)))
      throw InvalidInput(fmt::format("an addend of shape {} for {}",
                                     describe(tensors.input(2)), describe(y)));
    lead_with_ones(shape.c_dims, static_cast<std::size_t>(shape.rank()));
  }
  return shape;
}

}  // namespace espalier::training
