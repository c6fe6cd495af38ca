#include "solver/refine/refine.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/numbers.h"
#include "solver/refine/gmres.h"
#include "solver/threads/task_pool.h"

namespace espalier::solver {
namespace {

constexpr double kTarget = std::numeric_limits<double>::epsilon() / 2;
// Rows whose r_i / w_i is small by itself need no excuse.
constexpr double kGoodStrict = 1e-12;

std::int32_t desks_of(std::int32_t nrhs, const RefineOptions& options) {
  return std::clamp(nrhs, 1, std::max(options.threads, 1));
}

class Refiner {
 public:
  Refiner(const MatrixPart& a, std::span<const double> b, std::span<double> x,
          std::int32_t nrhs, const BlockOperator& solve, const RefineOptions& options,
          std::vector<double>* space)
      : n_(a.here().vector_size()),
        b_(b),
        x_(x),
        solve_(solve),
        options_(options),
        errors_(nrhs),
        r_(space != nullptr ? *space : own_) {
    r_.resize(b.size());
    const std::int32_t desks = desks_of(nrhs, options);
    desks_.reserve(at(desks));
    for (std::int32_t k = 0; k < desks; ++k) {
      desks_.push_back({ErrorMeasure(a, options.operation, options.given), {}});
      // From this thread's heap, whoever uses it.
      if (desks > 1) desks_.back().best.reserve(n_);
    }
  }

  Refinement run() {
    measure_starts();
    refine_plainly();
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
  // What one vector at a time is worked on with.
  struct Desk {
    ErrorMeasure measure;
    std::vector<double> best;  // while a correction is tried
  };

  // Calls visit(desk, k) for k below `count`: at each desk one after the other.
  void for_each(std::size_t count, const std::function<void(Desk&, std::size_t)>& visit) {
    const std::size_t desks = std::min(desks_.size(), count);
    const auto at_desk = [&](std::size_t desk) {
      for (std::size_t k = desk; k < count; k += desks) visit(desks_[desk], k);
    };
    if (desks < 2) return at_desk(0);
    on_pool(static_cast<std::int32_t>(desks), static_cast<std::int64_t>(count * n_),
            [&](TaskPool& pool) {
              pool.for_each_block(static_cast<std::int64_t>(desks),
                                  [&](std::int64_t desk) { at_desk(at(desk)); });
            });
  }

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

  void measure_starts() {
    for_each(errors_.size(), [&](Desk& desk, std::size_t c) {
      errors_[c] = desk.measure(x(c), b(c), r(c));
      if (!std::isfinite(errors_[c].total())) try_zero(desk, c);
    });
    for (std::size_t c = 0; c < errors_.size(); ++c)
      if (errors_[c].total() > kEnoughToBegin || errors_[c].strict > kGoodStrict)
        keep_active(c, c);
  }

  // The vectors to be refined have their residuals at the first places of r_.
  void keep_active(std::size_t c, std::size_t place) {
    if (place != active_.size()) std::ranges::copy(r(place), r(active_.size()).begin());
    active_.push_back(c);
  }

  void try_zero(Desk& desk, std::size_t c) {
    desk.best.assign(x(c).begin(), x(c).end());
    std::ranges::fill(x(c), 0.0);
    errors_[c] = desk.measure(x(c), b(c), r(c));
    if (!std::isfinite(errors_[c].total())) std::ranges::copy(desk.best, x(c).begin());
  }

  void refine_plainly() {
    for (std::int32_t step = 1; step <= options_.max_steps && !active_.empty(); ++step) {
      solve_(std::span(r_).first(active_.size() * n_),
             static_cast<std::int32_t>(active_.size()));
      std::vector<Corrected> how(active_.size());
      for_each(active_.size(), [&](Desk& desk, std::size_t place) {
        const std::size_t c = active_[place];
        const BackwardError before = errors_[c];
        how[place].better = correct(desk, c, r(place));
        how[place].halved = how[place].better && halved(errors_[c], before);
      });
      const std::vector<std::size_t> corrected = std::exchange(active_, {});
      for (std::size_t place = 0; place < corrected.size(); ++place) {
        if (how[place].better) result_.steps = step;
        if (how[place].halved) keep_active(corrected[place], place);
      }
    }
  }

  struct Corrected {
    bool better = false, halved = false;
  };

  // x += d; or, when that is no better, as it was.
  // @param d  the residual afterwards
  bool correct(Desk& desk, std::size_t c, std::span<double> d) {
    const auto x = this->x(c);
    desk.best.assign(x.begin(), x.end());
    for (std::size_t i = 0; i < n_; ++i) x[i] += d[i];
    const BackwardError error = desk.measure(x, b(c), d);
    const bool keep = better(error, errors_[c]);
    if (keep) {
      errors_[c] = error;
    } else {
      std::ranges::copy(desk.best, x.begin());
    }
    return keep;
  }

  void refine_by_gmres(std::size_t c) {
    if (!gmres_) gmres_.emplace(static_cast<std::int32_t>(n_), options_.gmres_basis);
    Desk& desk = desks_.front();
    desk.measure(x(c), b(c), r(0));
    for (std::int32_t cycle = 0; cycle < options_.gmres_cycles; ++cycle) {
      const double before = errors_[c].total();
      result_.gmres_steps += gmres_->correct(desk.measure, r(0), solve_, kTarget);
      if (!correct(desk, c, r(0))) return;
      if (errors_[c].total() > before / 2 || errors_[c].total() <= kTarget) return;
    }
  }

  std::size_t n_;
  std::span<const double> b_;
  std::span<double> x_;
  const BlockOperator& solve_;
  const RefineOptions& options_;
  std::vector<Desk> desks_;
  std::vector<BackwardError> errors_;  // by vector
  std::vector<std::size_t> active_;
  std::vector<double> own_;
  std::vector<double>& r_;
  std::optional<Gmres> gmres_;
  Refinement result_;
};

}  // namespace

Refinement refine(const MatrixPart& a, std::span<const double> b, std::span<double> x,
                  std::int32_t nrhs, const BlockOperator& solve,
                  const RefineOptions& options, std::vector<double>* space) {
  return Refiner(a, b, x, nrhs, solve, options, space).run();
}

Bytes refinement_bytes(std::int32_t size, std::int32_t nrhs, const RefineOptions& options,
                       std::int32_t systems) {
  constexpr Bytes kPerVector = sizeof(BackwardError) + 2 * sizeof(std::size_t);
  // Residuals; at each desk the best vector so far, row sums and denominators; norms of
  // systems.
  const Bytes desks = desks_of(nrhs, options);
  const Bytes vectors = checked_add(checked_mul(Bytes{nrhs} + 3 * desks, size),
                                    2 * checked_mul(desks, systems));
  const Bytes gmres =
      options.gmres_basis > 0 ? Gmres::bytes(size, options.gmres_basis) : 0;
  return checked_add(checked_mul(vectors, Bytes{sizeof(double)}),
                     checked_add(gmres, 2 * kPerVector * nrhs));
}

}  // namespace espalier::solver
