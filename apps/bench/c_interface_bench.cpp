// What the C interface costs beside the C++ one: both on the same systems, phase by
// phase, taking turns in one process and one thread.
//
//   c_interface_bench [--order N…] [--kind spd|symmetric|general…] [--seconds S]
//
// Processor time of the calling thread, BLAS on one thread, in microseconds: the lower
// quartile of the turns. "analyse": from the caller's arrays, which stay the caller's, to
// a plan without a bound; "values": other values of the pattern, factored; "solve": one
// right-hand side, with its error measured.
//
// Exit status 1 where the two solutions are not the same bits.

#include <espalier_solver.h>
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <stdexcept>

#include "bench_program.h"
#include "espalier/machine/blas_kernel.h"
#include "espalier/model/processor_time.h"
#include "peer_run.h"
#include "small_systems.h"
#include "solver/api/solver.h"

namespace {

using namespace espalier;
using namespace espalier::bench;

constexpr int kLeastTurns = 5;
constexpr std::array kPhases = {"analyse", "values", "solve"};

/// A phase of a solver, of which x is the right-hand side, then the solution.
class Way {
 public:
  virtual ~Way() = default;
  virtual void analyse() = 0;
  virtual void factorise_values() = 0;
  virtual void solve(std::vector<double>& x) = 0;
};

class ByCxx : public Way {
 public:
  explicit ByCxx(const PeerMatrix& a) : a_(a) {}
  void analyse() override {
    solver_.reset();
    solver_.emplace(matrix(), options_);
    if (!solver_->plan(std::nullopt)) throw std::runtime_error("C++: no plan");
  }
  void factorise_values() override {
    solver_->replace_values(matrix());
    if (!solver_->factorise()) throw std::runtime_error("C++: no factor");
  }
  void solve(std::vector<double>& x) override { (void)solver_->solve(x); }

 private:
  [[nodiscard]] solver::InputMatrix matrix() const {
    if (a_.symmetric)
      return solver::SymmetricMatrix{a_.size, a_.column_start, a_.row, a_.value};
    return solver::GeneralMatrix{a_.size, a_.column_start, a_.row, a_.value};
  }

  const PeerMatrix& a_;
  solver::SolverOptions options_;
  std::optional<solver::Solver> solver_;
};

class ByC : public Way {
 public:
  explicit ByC(const PeerMatrix& a) : a_(a), columns_(a.row.begin(), a.row.end()) {
    input_.order = a.size;
    input_.symmetry = a.symmetric ? ESPALIER_SOLVER_SYMMETRIC : ESPALIER_SOLVER_GENERAL;
    input_.index_bits = 64;
    input_.starts = a.column_start.data();
    input_.rows = columns_.data();
    input_.values = a.value.data();
  }
  void analyse() override {
    solver_.reset();
    espalier_solver* made = nullptr;
    check(espalier_solver_analyse(&made, &input_, nullptr));
    solver_.reset(made);
    check(espalier_solver_plan(made, std::numeric_limits<std::int64_t>::max()));
  }
  void factorise_values() override {
    check(espalier_solver_factorise_values(solver_.get(), a_.value.data(),
                                           std::ssize(a_.value)));
  }
  void solve(std::vector<double>& x) override {
    check(espalier_solver_solve(solver_.get(), 0, 1, x.data()));
  }

 private:
  struct Destroy {
    void operator()(espalier_solver* each) const { espalier_solver_destroy(each); }
  };
  static void check(int status) {
    if (status != 0) throw std::runtime_error(espalier_solver_last_error());
  }

  const PeerMatrix& a_;
  std::vector<std::int64_t> columns_;
  espalier_solver_input input_ = ESPALIER_SOLVER_INPUT_INIT;
  std::unique_ptr<espalier_solver, Destroy> solver_;
};

// Seconds of the phases of a way, in turns.
struct Measured {
  std::unique_ptr<Way> way;
  std::vector<double> x;
  std::array<std::vector<double>, kPhases.size()> seconds;

  explicit Measured(std::unique_ptr<Way> of) : way(std::move(of)) {}
  void turn(const std::vector<double>& b) {
    x = b;
    const std::array<std::function<void()>, kPhases.size()> phases = {
        [this] { way->analyse(); }, [this] { way->factorise_values(); },
        [this] { way->solve(x); }};
    for (std::size_t k = 0; k < phases.size(); ++k) {
      const double start = thread_seconds();
      phases[k]();
      seconds[k].push_back(thread_seconds() - start);
    }
  }
  double microseconds(std::size_t phase) {
    std::vector<double>& all = seconds[phase];
    const auto quartile = all.begin() + std::ssize(all) / 4;
    std::ranges::nth_element(all, quartile);
    return 1e6 * *quartile;
  }
};

bool compare(const std::string& kind, std::int32_t order, double seconds) {
  const PeerMatrix matrix = small_system(kind, order);
  const std::vector<double> b = apply_to_ones(matrix);
  Measured cxx(std::make_unique<ByCxx>(matrix)), c(std::make_unique<ByC>(matrix));
  const double start = thread_seconds();
  for (int turn = 0; turn < kLeastTurns || thread_seconds() - start < seconds; ++turn) {
    Measured& first = turn % 2 == 0 ? cxx : c;
    Measured& second = turn % 2 == 0 ? c : cxx;
    first.turn(b);
    second.turn(b);
  }
  for (std::size_t k = 0; k < kPhases.size(); ++k) {
    const double own = cxx.microseconds(k), through = c.microseconds(k);
    fmt::print("{:<9} {:>6} {:<8} {:>10.1f} {:>10.1f} {:>7.2f}\n", kind, matrix.size,
               kPhases[k], own, through, through / own);
  }
  std::fflush(stdout);
  return cxx.x == c.x;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::int32_t> orders = {10, 100, 1000, 10'000, 100'000};
  std::vector<std::string> kinds = {"spd", "symmetric", "general"};
  double seconds = 2;
  CLI::App app("The C interface beside the C++ one");
  app.add_option("--order", orders, "Orders")->check(CLI::Range(10, 1'000'000));
  app.add_option("--kind", kinds, "Kinds")
      ->check(CLI::IsMember({"spd", "symmetric", "general"}));
  app.add_option("--seconds", seconds, "For each system")->check(CLI::Range(0.0, 1e3));
  return parse_and_run(app, argc, argv, [&] {
    set_blas_threads(1);
    fmt::print(
        "Kernels of OpenBLAS: {}; microseconds\n\n{:<9} {:>6} {:<8} {:>10} {:>10} "
        "{:>7}\n",
        blas_kernel().value_or("another BLAS"), "kind", "order", "", "C++", "C", "ratio");
    bool same = true;
    for (const std::string& kind : kinds)
      for (const std::int32_t order : orders) same &= compare(kind, order, seconds);
    if (!same) fmt::print("solutions are not the same\n");
    return same ? 0 : 1;
  });
}
