#include "solver/refine/refine.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "solver/refine/gmres.h"

namespace espalier::solver {
namespace {

constexpr double kTarget = std::numeric_limits<double>::epsilon() / 2;
// Rows whose r_i / w_i is small by itself need no excuse.
constexpr double kGoodStrict = 1e-12;

class Refiner {
 public:
  Refiner(const MatrixPart& a, std::span<const double> b, std::span<double> x,
          std::int32_t nrhs, const BlockOperator& solve, const RefineOptions& options)
      : n_(a.here().vector_size()),
        b_(b),
        x_(x),
        solve_(solve),
        options_(options),
        measure_(a, options.operation, options.given),
        errors_(nrhs),
        r_(b.size()) {}

  Refinement run() {
    for (std::size_t c = 0; c < errors_.size(); ++c) measure_start(c);
    refine_plainly();
    r_.resize(n_);
    for (std::size_t c = 0; c < errors_.size(); ++c)
      if (options_.gmres_basis > 0 && errors_[c].total() > options_.gmres_above)
        refine_by_gmres(c);
    for (const BackwardError& error : errors_) {
      result_.backward_error = std::max(result_.backward_error, error.total());
      result_.strict = std::max(result_.strict, error.strict);
    }
    return result_;
  }

 private:
  [[nodiscard]] auto b(std::size_t c) const { return b_.subspan(c * n_, n_); }
  [[nodiscard]] auto x(std::size_t c) const { return x_.subspan(c * n_, n_); }
  [[nodiscard]] auto r(std::size_t place) {
    return std::span(r_).subspan(place * n_, n_);
  }

  // Whether `after` is better, and if so, by the factor that is worth another step.
  static bool better(const BackwardError& after, const BackwardError& before) {
    if (before.total() > kTarget) return after.total() < before.total();
    return after.total() <= kTarget && after.strict < before.strict;
  }
  static bool halved(const BackwardError& after, const BackwardError& before) {
    if (after.total() > kTarget) return after.total() <= before.total() / 2;
    return after.strict > kGoodStrict &&
           (before.total() > kTarget || after.strict <= before.strict / 2);
  }

  // The vectors to be refined have their residuals at the first places of r_.
  void measure_start(std::size_t c) {
    const auto residual = r(active_.size());
    errors_[c] = measure_(x(c), b(c), residual);
    if (!std::isfinite(errors_[c].total())) try_zero(c, residual);
    if (errors_[c].total() > kEnoughToBegin || errors_[c].strict > kGoodStrict)
      active_.push_back(c);
  }

  void try_zero(std::size_t c, std::span<double> residual) {
    best_.assign(x(c).begin(), x(c).end());
    std::ranges::fill(x(c), 0.0);
    errors_[c] = measure_(x(c), b(c), residual);
    if (!std::isfinite(errors_[c].total())) std::ranges::copy(best_, x(c).begin());
  }

  void refine_plainly() {
    for (std::int32_t step = 1; step <= options_.max_steps && !active_.empty(); ++step) {
      solve_(std::span(r_).first(active_.size() * n_),
             static_cast<std::int32_t>(active_.size()));
      std::size_t kept = 0;
      for (std::size_t place = 0; place < active_.size(); ++place) {
        const std::size_t c = active_[place];
        const BackwardError before = errors_[c];
        if (!correct(c, r(place), r(kept))) continue;
        result_.steps = step;
        if (halved(errors_[c], before)) active_[kept++] = c;
      }
      active_.resize(kept);
    }
  }

  // x += d; or, when that is no better, as it was. `residual` may be where d is.
  bool correct(std::size_t c, std::span<const double> d, std::span<double> residual) {
    const auto x = this->x(c);
    best_.assign(x.begin(), x.end());
    for (std::size_t i = 0; i < n_; ++i) x[i] += d[i];
    const BackwardError error = measure_(x, b(c), residual);
    const bool keep = better(error, errors_[c]);
    if (keep) {
      errors_[c] = error;
    } else {
      std::ranges::copy(best_, x.begin());
    }
    return keep;
  }

  void refine_by_gmres(std::size_t c) {
    if (!gmres_) gmres_.emplace(static_cast<std::int32_t>(n_), options_.gmres_basis);
    measure_(x(c), b(c), r(0));
    for (std::int32_t cycle = 0; cycle < options_.gmres_cycles; ++cycle) {
      const double before = errors_[c].total();
      result_.gmres_steps += gmres_->correct(measure_, r(0), solve_, kTarget);
      if (!correct(c, r(0), r(0))) return;
      if (errors_[c].total() > before / 2 || errors_[c].total() <= kTarget) return;
    }
  }

  std::size_t n_;
  std::span<const double> b_;
  std::span<double> x_;
  const BlockOperator& solve_;
  const RefineOptions& options_;
  ErrorMeasure measure_;
  std::vector<BackwardError> errors_;  // by vector
  std::vector<std::size_t> active_;
  std::vector<double> best_;  // while a correction is tried
  std::vector<double> r_;
  std::optional<Gmres> gmres_;
  Refinement result_;
};

}  // namespace

Refinement refine(const MatrixPart& a, std::span<const double> b, std::span<double> x,
                  std::int32_t nrhs, const BlockOperator& solve,
                  const RefineOptions& options) {
  return Refiner(a, b, x, nrhs, solve, options).run();
}

Bytes refinement_bytes(std::int32_t size, std::int32_t nrhs, const RefineOptions& options,
                       std::int32_t systems) {
  constexpr Bytes kPerVector = sizeof(BackwardError) + sizeof(std::size_t);
  // Residuals, the best vector so far, row sums and denominators; norms of systems.
  const Bytes vectors =
      checked_add(checked_mul(Bytes{nrhs} + 3, size), 2 * Bytes{systems});
  const Bytes gmres =
      options.gmres_basis > 0 ? Gmres::bytes(size, options.gmres_basis) : 0;
  return checked_add(checked_mul(vectors, Bytes{sizeof(double)}),
                     checked_add(gmres, 2 * kPerVector * nrhs));
}

}  // namespace espalier::solver
