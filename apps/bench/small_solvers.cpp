// Ours and its peers behind one interface, each as its users call it, one after the other
// in one thread. Never part of the product.

#include <cholmod.h>
#include <dmumps_c.h>
#include <fmt/format.h>
#include <umfpack.h>

#include <optional>
#include <stdexcept>

#include "small_systems.h"
#include "solver/api/solver.h"

namespace espalier::bench {
namespace {

[[noreturn]] void fail(std::string_view name, int code) {
  throw std::runtime_error(fmt::format("{}: {}", name, code));
}

std::vector<int> as_int(const std::vector<std::int64_t>& offsets) {
  return {offsets.begin(), offsets.end()};
}

class Ours : public SmallSolver {
 public:
  Ours(const PeerMatrix& a, std::string_view kind, bool residual) {
    if (a.symmetric)
      matrix_ = solver::SymmetricMatrix{a.size, a.column_start, a.row, a.value};
    else
      matrix_ = solver::GeneralMatrix{a.size, a.column_start, a.row, a.value};
    options_.kind = kind == "spd"         ? solver::FactorKind::kCholesky
                    : kind == "symmetric" ? solver::FactorKind::kLdlt
                                          : solver::FactorKind::kLu;
    options_.no_residual = !residual;
  }
  [[nodiscard]] std::string_view name() const override { return "ours"; }
  void solve_fresh(std::vector<double>& x) override {
    analyse();
    factor_and_solve(x);
    solver_.reset();
  }
  void keep_analysis() override { analyse(); }
  void solve_values(std::vector<double>& x) override {
    solver_->replace_values(matrix_);
    factor_and_solve(x);
  }

 private:
  void analyse() {
    solver_.emplace(solver::InputMatrix(matrix_), options_);
    if (!solver_->without_runtime() || !solver_->plan(std::nullopt)) fail(name(), 0);
  }
  void factor_and_solve(std::vector<double>& x) {
    if (!solver_->factorise()) fail(name(), 1);
    (void)solver_->solve(x);
  }

  solver::InputMatrix matrix_;
  solver::SolverOptions options_;
  std::optional<solver::Solver> solver_;
};

class Cholmod : public SmallSolver {
 public:
  explicit Cholmod(const PeerMatrix& a)
      : start_(as_int(a.column_start)), row_(a.row), value_(a.value) {
    cholmod_start(&common_);
    common_.print = 0;
    matrix_.nrow = matrix_.ncol = b_.nrow = b_.d = b_.nzmax =
        static_cast<std::size_t>(a.size);
    matrix_.nzmax = a.row.size();
    matrix_.p = start_.data();
    matrix_.i = row_.data();
    matrix_.x = value_.data();
    matrix_.stype = -1;
    matrix_.itype = CHOLMOD_INT;
    matrix_.sorted = matrix_.packed = 1;
    b_.ncol = 1;
    matrix_.xtype = b_.xtype = CHOLMOD_REAL;
  }
  Cholmod(const Cholmod&) = delete;
  Cholmod& operator=(const Cholmod&) = delete;
  ~Cholmod() override {
    cholmod_free_factor(&factor_, &common_);
    cholmod_finish(&common_);
  }
  [[nodiscard]] std::string_view name() const override { return "CHOLMOD"; }
  void solve_fresh(std::vector<double>& x) override {
    keep_analysis();
    solve_values(x);
    cholmod_free_factor(&factor_, &common_);
  }
  void keep_analysis() override { factor_ = cholmod_analyze(&matrix_, &common_); }
  void solve_values(std::vector<double>& x) override {
    cholmod_factorize(&matrix_, factor_, &common_);
    if (common_.status != CHOLMOD_OK) fail(name(), common_.status);
    b_.x = x.data();
    cholmod_dense* found = cholmod_solve(CHOLMOD_A, factor_, &b_, &common_);
    const auto* const values = static_cast<const double*>(found->x);
    x.assign(values, values + x.size());
    cholmod_free_dense(&found, &common_);
  }

 private:
  std::vector<int> start_;
  std::vector<std::int32_t> row_;
  std::vector<double> value_;
  cholmod_common common_{};
  cholmod_sparse matrix_{};
  cholmod_dense b_{};
  cholmod_factor* factor_ = nullptr;
};

class Umfpack : public SmallSolver {
 public:
  explicit Umfpack(PeerMatrix a) : a_(std::move(a)), start_(as_int(a_.column_start)) {}
  Umfpack(const Umfpack&) = delete;
  Umfpack& operator=(const Umfpack&) = delete;
  ~Umfpack() override { umfpack_di_free_symbolic(&symbolic_); }
  [[nodiscard]] std::string_view name() const override { return "UMFPACK"; }
  void solve_fresh(std::vector<double>& x) override {
    keep_analysis();
    solve_values(x);
    umfpack_di_free_symbolic(&symbolic_);
  }
  void keep_analysis() override {
    const int status = umfpack_di_symbolic(a_.size, a_.size, start_.data(), a_.row.data(),
                                           a_.value.data(), &symbolic_, nullptr, nullptr);
    if (status != UMFPACK_OK) fail(name(), status);
  }
  void solve_values(std::vector<double>& x) override {
    void* numeric = nullptr;
    int status = umfpack_di_numeric(start_.data(), a_.row.data(), a_.value.data(),
                                    symbolic_, &numeric, nullptr, nullptr);
    if (status != UMFPACK_OK) fail(name(), status);
    const std::vector<double> b = x;
    status = umfpack_di_solve(UMFPACK_A, start_.data(), a_.row.data(), a_.value.data(),
                              x.data(), b.data(), numeric, nullptr, nullptr);
    umfpack_di_free_numeric(&numeric);
    if (status != UMFPACK_OK) fail(name(), status);
  }

 private:
  PeerMatrix a_;
  std::vector<int> start_;
  void* symbolic_ = nullptr;
};

// One instance for all systems: to make one is not counted.
class Mumps : public SmallSolver {
 public:
  Mumps(PeerMatrix a, std::string_view kind) : a_(std::move(a)) {
    id_.sym = kind == "spd" ? 1 : kind == "symmetric" ? 2 : 0;
    id_.par = 1;
    id_.comm_fortran = -987654;
    run(-1);
    for (int i = 0; i < 4; ++i) id_.icntl[i] = i == 3 ? 0 : -1;  // silent
    for (std::int32_t j = 0; j < a_.size; ++j)
      for (auto k = a_.column_start[j]; k < a_.column_start[j + 1]; ++k) {
        row_.push_back(a_.row[k] + 1);
        column_.push_back(j + 1);
      }
    id_.n = a_.size;
    id_.nnz = static_cast<MUMPS_INT8>(row_.size());
    id_.irn = row_.data();
    id_.jcn = column_.data();
    id_.a = a_.value.data();
  }
  Mumps(const Mumps&) = delete;
  Mumps& operator=(const Mumps&) = delete;
  ~Mumps() override {
    id_.job = -2;
    dmumps_c(&id_);
  }
  [[nodiscard]] std::string_view name() const override { return "MUMPS"; }
  void solve_fresh(std::vector<double>& x) override { solve(6, x); }
  void keep_analysis() override { run(1); }
  void solve_values(std::vector<double>& x) override { solve(5, x); }

 private:
  void run(int job) {
    id_.job = job;
    dmumps_c(&id_);
    if (id_.infog[0] < 0) fail(name(), id_.infog[0]);
  }
  void solve(int job, std::vector<double>& x) {
    id_.rhs = x.data();
    run(job);
  }

  PeerMatrix a_;
  DMUMPS_STRUC_C id_{};
  std::vector<int> row_, column_;
};

}  // namespace

std::vector<std::unique_ptr<SmallSolver>> small_solvers(const PeerMatrix& matrix,
                                                        std::string_view kind,
                                                        bool residual) {
  std::vector<std::unique_ptr<SmallSolver>> all;
  all.push_back(std::make_unique<Ours>(matrix, kind, residual));
  if (kind == "spd") all.push_back(std::make_unique<Cholmod>(matrix));
  all.push_back(
      std::make_unique<Mumps>(kind == "general" ? expand(matrix) : matrix, kind));
  all.push_back(std::make_unique<Umfpack>(expand(matrix)));
  return all;
}

}  // namespace espalier::bench
