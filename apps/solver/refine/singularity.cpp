#include "solver/refine/singularity.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "solver/refine/residual.h"

namespace espalier::solver {
namespace {

constexpr int kCorrections = 6;
// Entries of w below this part of its largest may be rounding, with rows that dwarf those
// that matter; no row is missed where v is a null vector, which is one in every row.
constexpr double kSmall = 1e-8;
// Part of a null vector that a correction leaves, at least.
constexpr double kPersists = 1e-3;

class NullVectors {
 public:
  NullVectors(const MatrixPart& a, bool symmetric, const BlockOperator& solve,
              const BlockOperator& solve_transposed)
      : a_(a),
        symmetric_(symmetric),
        solve_(solve),
        solve_transposed_(symmetric ? solve : solve_transposed),
        v_(a.here().vector_size()),
        product_(v_.size()),
        moduli_(v_.size()) {}

  NullQuotient run() {
    if (v_.empty()) return {};
    std::minstd_rand random(1);
    for (double& each : v_) each = random() & 1 ? 1 : -1;
    if (!iterate(solve_transposed_, v_) || !iterate(solve_, v_)) return {0, 0};
    if (!symmetric_) {
      w_ = v_;
      if (!iterate(solve_transposed_, w_)) return {0, 0};
    }
    const double first = quotient();
    double last = first;
    for (int step = 0; step < kCorrections; ++step) {
      double kept = correct(Operation::kPlain, solve_, v_);
      if (!symmetric_)
        kept = std::min(kept, correct(Operation::kTransposed, solve_transposed_, w_));
      if (!(kept > 0)) return {first, 1};
      // What is left of one that was no null vector is rounding, and no pair.
      const double next = kept < kPersists ? 1 : quotient();
      const bool settled = step > 0 && next >= last / 2 && next <= 2 * last;
      last = next;
      if (settled) break;
    }
    return {first, last <= kZeroQuotient ? last : std::min(last, sparse_quotient())};
  }

 private:
  static double norm(std::span<const double> x) {
    double largest = 0;
    for (const double each : x)
      largest = std::isfinite(each) ? std::max(largest, std::abs(each)) : HUGE_VAL;
    return largest;
  }

  // x := x over its norm. @return false: there is none
  static bool normalise(std::span<double> x) {
    const double size = norm(x);
    if (!(size > 0) || !std::isfinite(size)) return false;
    for (double& each : x) each /= size;
    return true;
  }

  static bool iterate(const BlockOperator& solve, std::span<double> x) {
    solve(x, 1);
    return normalise(x);
  }

  // x -= solve(op(A) x). @return the part of x that is left
  double correct(Operation operation, const BlockOperator& solve, std::span<double> x) {
    multiply(a_, operation, x, product_);
    solve(product_, 1);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] -= product_[i];
    const double left = norm(x);
    return normalise(x) ? left : 0;
  }

  double quotient() {
    multiply(a_, Operation::kPlain, v_, product_);
    multiply_moduli(a_, Operation::kPlain, v_, moduli_);
    const std::vector<double>& w = symmetric_ ? v_ : w_;
    const double rounding = kSmall * norm(w);
    double above = 0, below = 0;
    for (std::size_t i = 0; i < w.size(); ++i) {
      if (std::abs(w[i]) < rounding) continue;
      above += std::abs(w[i]) * std::abs(product_[i]);
      below += std::abs(w[i]) * moduli_[i];
    }
    if (above == 0) return 0;
    return std::isfinite(below) ? above / below : 1;
  }

  // max_i |A v|_i / (|A| |v|)_i of v without its small entries: entries of A changed by
  // that part of themselves have v as a null vector [OP64], whatever w is.
  double sparse_quotient() {
    const double rounding = kSmall * norm(v_);
    for (double& each : v_)
      if (std::abs(each) < rounding) each = 0;
    multiply(a_, Operation::kPlain, v_, product_);
    multiply_moduli(a_, Operation::kPlain, v_, moduli_);
    double largest = 0;
    for (std::size_t i = 0; i < v_.size(); ++i) {
      if (product_[i] == 0) continue;
      const double part = std::abs(product_[i]) / moduli_[i];
      largest = std::isfinite(part) ? std::max(largest, part) : 1;
    }
    return largest;
  }

  const MatrixPart& a_;
  bool symmetric_;
  const BlockOperator &solve_, &solve_transposed_;
  std::vector<double> v_, w_;  // right and left; w_ empty: v_
  std::vector<double> product_, moduli_;
};

}  // namespace

NullQuotient null_quotient(const MatrixPart& a, bool symmetric,
                           const BlockOperator& solve,
                           const BlockOperator& solve_transposed) {
  return NullVectors(a, symmetric, solve, solve_transposed).run();
}

Bytes singularity_bytes(std::int32_t size) {
  return Bytes{size} * 4 * static_cast<Bytes>(sizeof(double));
}

}  // namespace espalier::solver
