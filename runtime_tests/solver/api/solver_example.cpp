// A sparse system through the C++ interface: convection and diffusion on a 50 x 50 grid,
// unsymmetric, by L U.
//
//   factor inside the least bound, solve for two right-hand sides, factor other values
//   under the same plan, save, load, solve with the transposed matrix.
//
// Argument: the file to save to. Every solution's residual is checked here.

#include <espalier/solver/solver.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <optional>
#include <stdexcept>
#include <vector>

namespace {

using espalier::solver::GeneralMatrix;
using espalier::solver::Operation;
using espalier::solver::Solver;
using espalier::solver::SolverOptions;

constexpr std::int32_t kSide = 50, kOrder = kSide * kSide;

// By columns: 4 on the diagonal, -1 - wind and -1 + wind to the two sides in x, -1 in y.
GeneralMatrix make_matrix(double wind) {
  GeneralMatrix matrix{.size = kOrder, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < kOrder; ++j) {
    const auto add = [&](std::int32_t row, double value) {
      matrix.row.push_back(row);
      matrix.value.push_back(value);
    };
    if (j >= kSide) add(j - kSide, -1);
    if (j % kSide > 0) add(j - 1, -1 + wind);
    add(j, 4);
    if (j % kSide + 1 < kSide) add(j + 1, -1 - wind);
    if (j + kSide < kOrder) add(j + kSide, -1);
    matrix.column_start.push_back(static_cast<std::int64_t>(matrix.row.size()));
  }
  return matrix;
}

// The largest entry of |b - op(A) x|.
double residual(const GeneralMatrix& a, Operation operation, const double* b,
                const double* x) {
  std::vector<double> r(b, b + kOrder);
  for (std::int32_t j = 0; j < kOrder; ++j)
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k)
      if (operation == Operation::kPlain)
        r[a.row[k]] -= a.value[k] * x[j];
      else
        r[j] -= a.value[k] * x[a.row[k]];
  double largest = 0;
  for (const double value : r) largest = std::max(largest, std::abs(value));
  return largest;
}

void solve_and_check(Solver& solver, const GeneralMatrix& a, Operation operation,
                     const char* when) {
  std::vector<double> b(2 * kOrder);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<double>(i % 7) - 3;
  std::vector<double> x = b;
  const auto solution = solver.solve(x, 2, operation);
  for (const std::int32_t first : {0, kOrder}) {
    const double error = residual(a, operation, b.data() + first, x.data() + first);
    std::printf("%s: residual %.1e, backward error %.1e\n", when, error,
                solution.refinement.backward_error);
    if (!(error <= 1e-11)) throw std::runtime_error("a solution is wrong");
  }
}

void factorise(Solver& solver) {
  if (const auto run = solver.factorise(); !run)
    throw std::runtime_error("not positive definite");
}

void run(const char* path) {
  SolverOptions options;
  options.workers = 2;
  {
    Solver solver(make_matrix(0.3), options);
    const auto planned = solver.plan(solver.least());
    if (!planned) throw std::runtime_error(planned.error().message());
    factorise(solver);
    solve_and_check(solver, make_matrix(0.3), Operation::kPlain, "first values");
    solver.replace_values(make_matrix(0.6));
    factorise(solver);
    solve_and_check(solver, make_matrix(0.6), Operation::kPlain, "other values");
    solver.save(path);
  }
  const auto loaded = Solver::load(path, options);
  solve_and_check(*loaded, make_matrix(0.6), Operation::kTransposed, "loaded");
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: %s FILE\n", argv[0]);
    return 2;
  }
  try {
    run(argv[1]);
    return std::remove(argv[1]) == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
