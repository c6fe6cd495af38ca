#include "solver/triangular_solve.h"

#include <algorithm>
#include <vector>

#include "solver/kernels/dense.h"

namespace espalier::solver {
namespace {

// x of a front's rows: its pivots, then the rows of its contribution block.
void gather(const Symbolic& symbolic, std::int32_t front, std::span<const double> x,
            double* local) {
  const std::int32_t first = symbolic.first_column[front];
  local = std::copy_n(x.begin() + first, symbolic.pivots(front), local);
  for (const std::int32_t row : symbolic.rows_of(front)) *local++ = x[row];
}

}  // namespace

void solve_in_place(const Symbolic& symbolic, const AssemblyTree& tree,
                    const Factor& factor, std::span<double> x) {
  std::int32_t largest = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    largest = std::max(largest, symbolic.front_order(s));
  std::vector<double> local(largest);

  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const Trapezoid panel = tree.panel(symbolic, s);
    gather(symbolic, s, x, local.data());
    for (std::int32_t k = 0; k < panel.blocks(); ++k)
      kernels::forward_block(panel.leading(k) - panel.width(k), panel.width(k),
                             factor.panel[s] + panel.offset(k), panel.leading(k),
                             local.data() + panel.first(k));
    std::copy_n(local.data(), panel.columns(), x.begin() + symbolic.first_column[s]);
    const double* value = local.data() + panel.columns();
    for (const std::int32_t row : symbolic.rows_of(s)) x[row] = *value++;
  }
  for (std::int32_t s = symbolic.fronts() - 1; s >= 0; --s) {
    const Trapezoid panel = tree.panel(symbolic, s);
    gather(symbolic, s, x, local.data());
    for (std::int32_t k = panel.blocks() - 1; k >= 0; --k)
      kernels::backward_block(panel.leading(k) - panel.width(k), panel.width(k),
                              factor.panel[s] + panel.offset(k), panel.leading(k),
                              local.data() + panel.first(k));
    std::copy_n(local.data(), panel.columns(), x.begin() + symbolic.first_column[s]);
  }
}

}  // namespace espalier::solver
