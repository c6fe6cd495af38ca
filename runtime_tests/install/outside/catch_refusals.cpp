// What the library throws is caught by its type, and what it holds goes with its object.

#include <espalier/solver/complex_solver.h>
#include <espalier/solver/runtime.h>

#include <complex>
#include <cstdio>
#include <vector>

using namespace espalier::solver;

namespace {

bool solves_a_complex_system() {
  ComplexSolver solver({.size = 2,
                        .column_start = {0, 2, 3},
                        .row = {0, 1, 1},
                        .value = {{0, 2}, {1, 0}, {4, 0}}},
                       {});
  if (!solver.solver().plan(std::nullopt) || !solver.solver().factorise()) return false;
  std::vector<Complex> b = {{0, 2}, {5, 0}};
  const Solution solution = solver.solve(b);
  return std::abs(b[0] - 1.0) + std::abs(b[1] - 1.0) < 1e-14 && !solution.doubts.any() &&
         solver.determinant().modulus.sign() == 1;
}

template <class Refusal, class Call>
bool refuses(Call call) {
  try {
    call();
  } catch (const Refusal& refusal) {
    return *refusal.what() != 0;
  }
  return false;
}

}  // namespace

int main() {
  if (!solves_a_complex_system()) return 1;
  const GeneralMatrix beyond = {1, {0, 1}, {7}, {1.0}};
  if (!refuses<espalier::InvalidInput>([&] { Solver(GeneralMatrix(beyond), {}); }))
    return 2;
  if (!refuses<BudgetExceeded>([] {
        SolverOptions options;
        options.budget = Budget::create(1);
        Solver(GeneralMatrix{1, {0, 1}, {0}, {1.0}}, options);
      }))
    return 3;
  if (!refuses<Busy>([] { static_cast<void>(Runtime::adopt()); })) return 4;
  Solver tight(GeneralMatrix{1, {0, 1}, {0}, {1.0}}, {});
  const auto planned = tight.plan(1);
  if (planned || planned.error().least_bytes != tight.least() ||
      planned.error().message().empty())
    return 5;
  std::printf("refused and caught\n");
}
