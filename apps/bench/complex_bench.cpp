// A complex system by us and by MUMPS, both in complex arithmetic, turn by turn in one
// process: processor time of the factorisation, memory, backward error. A
// comparison, never part of the product.
//
// usage: complex_bench GRID RE,IM [symmetric|general] [TURNS]

#include <fmt/format.h>
#include <zmumps_c.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/processor_time.h"
#include "peer_run.h"
#include "solver/complex/complex_solver.h"
#include "solver/matrix/grid.h"

namespace {

using namespace espalier;
using namespace espalier::solver;

// Processor seconds of each phase, and bytes of the factorisation as each counts them.
struct Figures {
  double analyse = 0, factor = 0, solve = 0, error = 0, flops = 0;
  Bytes bytes = 0;
};

// Of `body`.
template <class Body>
double timed(const Body& body) {
  const double start = process_seconds();
  body();
  return process_seconds() - start;
}

ComplexMatrix helmholtz(const GridShape& shape, Complex shift) {
  SymmetricMatrix grid = make_grid(shape);
  const std::vector<double> zeros(grid.row.size());
  ComplexMatrix matrix = zipped(ComplexSymmetry::kSymmetric, std::move(grid), zeros);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] += shift;
  return matrix;
}

// max |b - A x|_i / (|A| |x| + |b|)_i
double backward_error(const ComplexMatrix& matrix, const std::vector<Complex>& x,
                      const std::vector<Complex>& b) {
  std::vector<Complex> r = b;
  std::vector<double> w;
  for (const Complex value : b) w.push_back(std::abs(value));
  for_each_entry(matrix, [&](std::int32_t i, std::int32_t j, Complex value) {
    r[i] -= value * x[j];
    w[i] += std::abs(value) * std::abs(x[j]);
  });
  double worst = 0;
  for (std::size_t i = 0; i < r.size(); ++i)
    if (w[i] > 0) worst = std::max(worst, std::abs(r[i]) / w[i]);
  return worst;
}

SolverOptions our_options(bool general) {
  SolverOptions options;
  options.workers = 1;
  options.runtime_flops = 1e18;  // in this thread, as MUMPS
  options.analysis.ordering = OrderingKind::kMetis;
  if (general) options.kind = FactorKind::kLu;
  return options;
}

Figures by_us(const ComplexMatrix& matrix, bool general) {
  Figures figures;
  std::unique_ptr<ComplexSolver> solver;
  figures.analyse = timed([&] {
    solver = std::make_unique<ComplexSolver>(ComplexMatrix(matrix), our_options(general));
  });
  if (!solver->solver().plan({})) throw Error("no plan");
  figures.factor = timed([&] {
    const auto run = solver->solver().factorise();
    if (!run) throw Error("no pivot");
    figures.bytes = run->allocated_peak;
  });
  figures.flops = solver->solver().analysis().symbolic.factor_flops * (general ? 2 : 1);
  std::vector<Complex> b = solver->apply_to_ones();
  figures.solve =
      timed([&] { figures.error = solver->solve(b).refinement.backward_error; });
  return figures;
}

class Zmumps {
 public:
  explicit Zmumps(bool general) {
    id_.sym = general ? 0 : 2;
    id_.par = 1;
    id_.comm_fortran = -987654;
    run(-1);
    for (int i = 1; i <= 4; ++i) id_.icntl[i - 1] = i == 4 ? 0 : -1;
    id_.icntl[7 - 1] = 5;  // METIS
  }
  Zmumps(const Zmumps&) = delete;
  Zmumps& operator=(const Zmumps&) = delete;
  ~Zmumps() {
    id_.job = -2;
    zmumps_c(&id_);
  }
  void run(int job) {
    id_.job = job;
    zmumps_c(&id_);
    if (id_.infog[0] < 0) throw Error(fmt::format("zmumps: {}", id_.infog[0]));
  }
  ZMUMPS_STRUC_C& id() { return id_; }

 private:
  ZMUMPS_STRUC_C id_{};
};

Figures by_mumps(const ComplexMatrix& given, bool general) {
  ComplexMatrix matrix = general ? general_of(ComplexMatrix(given)) : given;
  std::vector<int> row, column;
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
      row.push_back(matrix.row[k] + 1);
      column.push_back(j + 1);
    }
  Zmumps mumps(general);
  mumps.id().n = matrix.size;
  mumps.id().nnz = static_cast<MUMPS_INT8>(row.size());
  mumps.id().irn = row.data();
  mumps.id().jcn = column.data();
  mumps.id().a = reinterpret_cast<mumps_double_complex*>(matrix.value.data());
  Figures figures;
  figures.analyse = timed([&] { mumps.run(1); });
  figures.factor = timed([&] { mumps.run(2); });
  figures.bytes = mumps.id().infog[21 - 1] * Bytes{1'000'000};
  figures.flops = mumps.id().rinfog[2];
  const std::vector<Complex> ones(static_cast<std::size_t>(matrix.size), 1.0);
  std::vector<Complex> b(ones.size());
  for_each_entry(given, [&](std::int32_t i, std::int32_t j, Complex value) {
    b[i] += value * ones[j];
  });
  std::vector<Complex> x = b;
  mumps.id().rhs = reinterpret_cast<mumps_double_complex*>(x.data());
  mumps.id().icntl[10 - 1] = 2;
  figures.solve = timed([&] { mumps.run(3); });
  figures.error = backward_error(given, x, b);
  return figures;
}

void print(const char* name, const Figures& figures) {
  fmt::print(
      "{:8} analyse {:7.3f} s  factor {:7.3f} s  solve {:6.3f} s  {:7.1f} MiB  "
      "{:.2e} operations  backward error {:.1e}\n",
      name, figures.analyse, figures.factor, figures.solve,
      static_cast<double>(figures.bytes) / (1 << 20), figures.flops, figures.error);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    fmt::print(stderr, "usage: {} GRID RE,IM [symmetric|general] [TURNS]\n", argv[0]);
    return 2;
  }
  try {
    bench::set_blas_threads(1);
    const std::string shift = argv[2];
    const std::size_t comma = shift.find(',');
    const Complex value(std::atof(shift.c_str()),
                        comma == std::string::npos ? 0 : std::atof(&shift[comma + 1]));
    const bool general = argc > 3 && std::string(argv[3]) == "general";
    const int turns = argc > 4 ? std::atoi(argv[4]) : 3;
    const ComplexMatrix matrix = helmholtz(parse_grid(argv[1]), value);
    std::vector<double> ratios;
    for (int turn = 0; turn < turns; ++turn) {
      const Figures ours = by_us(matrix, general), theirs = by_mumps(matrix, general);
      print("espalier", ours);
      print("zmumps", theirs);
      ratios.push_back(theirs.factor / ours.factor);
    }
    std::ranges::sort(ratios);
    fmt::print("zmumps / espalier, factor, median: {:.2f}\n", ratios[ratios.size() / 2]);
  } catch (const std::exception& error) {
    fmt::print(stderr, "complex_bench: {}\n", error.what());
    return 1;
  }
}
