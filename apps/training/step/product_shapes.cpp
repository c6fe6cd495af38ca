// The shapes of products: Gemm, MatMul.

#include <fmt/format.h>

#include <algorithm>

#include "training/step/operator_shapes.h"

namespace espalier::training {
namespace {

[[noreturn]] void refuse_product(const OperatorView& view) {
  view.refuse(fmt::format("there is no product of {} and {}", label(view.in(0)),
                          label(view.in(1))));
}

Shape gemm_result(const OperatorView& view) {
  const Shape &a = view.in(0).shape, &b = view.in(1).shape;
  if (a.size() != 2 || b.size() != 2) refuse_product(view);
  const std::size_t row = view.op().integer("transA", 0) != 0 ? 1 : 0;
  const std::size_t column = view.op().integer("transB", 0) != 0 ? 0 : 1;
  if (a[1 - row] != b[1 - column]) refuse_product(view);
  const Shape y = {a[row], b[column]};
  if (!view.has_input(2)) return y;
  const Shape& c = view.in(2).shape;
  bool broadcast = c.size() <= 2;
  for (std::size_t axis = 0; broadcast && axis < c.size(); ++axis)
    broadcast = c[axis] == 1 || c[axis] == y[2 - c.size() + axis];
  if (!broadcast) expect_shape(view, view.in(2), y, view.in(0));
  return y;
}

// A vector is a row on the left, a column on the right.
Shape matmul_result(const OperatorView& view) {
  const Shape &a = view.in(0).shape, &b = view.in(1).shape;
  if (a.empty() || b.empty()) refuse_product(view);
  if (a.back() != b[b.size() < 2 ? 0 : b.size() - 2]) refuse_product(view);
  const auto batch = [](const Shape& shape) {
    return Shape(shape.begin(),
                 shape.end() - std::min<std::ptrdiff_t>(2, std::ssize(shape)));
  };
  const Shape left = batch(a), right = batch(b);
  Shape y(std::max(left.size(), right.size()), 1);
  for (const Shape* each : {&left, &right})
    for (std::size_t i = 0; i < each->size(); ++i) {
      std::int64_t& extent = y[y.size() - each->size() + i];
      if (extent != 1 && (*each)[i] != 1 && extent != (*each)[i]) refuse_product(view);
      extent = std::max(extent, (*each)[i]);
    }
  if (a.size() > 1) y.push_back(a[a.size() - 2]);
  if (b.size() > 1) y.push_back(b.back());
  return y;
}

}  // namespace

std::optional<Shape> product_result(const OperatorView& view) {
  if (view.op().type == "Gemm") return gemm_result(view);
  if (view.op().type == "MatMul") return matmul_result(view);
  return std::nullopt;
}

}  // namespace espalier::training
