// What a system and its factor tell beside solutions, one function each: over 300 lines.

#include <fmt/format.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "solver/api/solver_impl.h"
#include "solver/api/solver_processes.h"
#include "solver/matrix/largest_modulus.h"
#include "solver/refine/product_of.h"
#include "solver/refine/residual.h"
#include "solver/refine/scaled_permutation.h"

namespace espalier::solver {
namespace {

// Corrections of a basis, at most; and what a null vector may leave of a row, as a part
// of its norm and the vector's.
constexpr int kBasisCorrections = 5;
constexpr double kNull = 1e-12, kNullGiven = 1e-8;  // aimed at, and accepted
// Corrections as it was given: from one end of the exponents to the other.
constexpr int kGivenCorrections = 50;

void fill(std::span<double> vector, std::minstd_rand& random) {
  std::uniform_real_distribution<> value(-1, 1);
  for (double& each : vector) each = value(random);
}

// Gram and Schmidt, again until nothing more is lost [Hig02, section 19.8]. With
// `random`, what has next to nothing of its own beside the vectors before it, or is not
// finite, is drawn by lot.
void orthonormalise(std::span<double> basis, std::size_t n, std::minstd_rand* random) {
  constexpr double kOwn = 1e-6, kKept = 0.5;
  constexpr int kPasses = 64;  // each parts what is parallel but for one rounding
  for (std::size_t k = 0; k < basis.size(); k += n) {
    const auto own = basis.subspan(k, n);
    for (int pass = 0; pass < kPasses;) {
      const double largest = largest_modulus(own);
      double before = 0, norm = 0;
      if (largest > 0 && std::isfinite(largest)) {
        for (double& each : own) each /= largest;
        before = std::sqrt(product_of(own, own));
        for (std::size_t other_at = 0; other_at < k; other_at += n) {
          const auto other = basis.subspan(other_at, n);
          const double part = product_of(own, other);
          for (std::size_t i = 0; i < n; ++i) own[i] -= part * other[i];
        }
        norm = std::sqrt(product_of(own, own));
      }
      if (random != nullptr && !(norm > kOwn)) {
        fill(own, *random);
        pass = 0;
        continue;
      }
      for (double& each : own) each /= norm;
      pass = pass > 0 && norm > kKept * before ? kPasses : pass + 1;
    }
  }
}

// Most of |(op(A) x)_i| / (||op(A) D||_i,1 ||D^-1 x||_inf) over rows and vectors, with D
// a diagonal matrix.
// @param d         of D; empty: ones
// @param products  receives op(A) x
double null_error(const MatrixPart& a, Operation operation, std::span<const double> basis,
                  std::span<double> products, std::span<const double> d = {}) {
  const auto n = static_cast<std::size_t>(a.here().vector_size());
  std::vector<double> weights(n, 1.0), sums(n);
  if (!d.empty()) std::ranges::copy(d, weights.begin());
  multiply_moduli(a, operation, weights, sums);
  double worst = 0;
  for (std::size_t k = 0; k < basis.size(); k += n) {
    const auto x = basis.subspan(k, n);
    const std::span<double> product = products.subspan(k, n);
    multiply(a, operation, x, product);
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i)
      largest = std::max(largest, std::abs(x[i]) / weights[i]);
    for (std::size_t i = 0; i < n; ++i)
      if (!(std::abs(product[i]) <= worst * sums[i] * largest))
        worst = std::abs(product[i]) / (sums[i] * largest);
  }
  return worst;
}

// A label for each part of the unknowns' n: of complex ones two.
std::vector<std::int32_t> by_part(const std::vector<std::int32_t>& labels,
                                  std::size_t n) {
  std::vector<std::int32_t> result(labels.empty() ? 0 : n);
  for (std::size_t i = 0; i < result.size(); ++i)
    result[i] = labels[i * labels.size() / n];
  return result;
}

// A column of a part of the basis, and what is left of it.
struct PartOfBasis {
  std::vector<double> value;  // rows of the part x vectors
  std::size_t rows, vectors;
  [[nodiscard]] std::span<double> column(std::size_t k) {
    return std::span(value).subspan(k * rows, rows);
  }
  // The column of most norm, and the sum of all squares.
  [[nodiscard]] std::pair<std::size_t, double> largest() {
    std::size_t best = 0;
    double most = -1, sum = 0;
    for (std::size_t k = 0; k < vectors; ++k) {
      const double square = product_of(column(k), column(k));
      sum += square;
      if (square > most) most = square, best = k;
    }
    return {best, sum};
  }
};

// The null space of systems that do not touch is that of each: a vector that mixes two of
// them is one of theirs only as far as rounding lets it be, and in the given scaling what
// belongs to one may be nothing beside the rounding of the other. An orthonormal basis
// restricted to a system has singular values 1, as many as its null space has dimensions,
// and 0.
std::vector<double> by_systems(std::vector<double>&& basis, std::size_t n,
                               std::span<const std::int32_t> systems) {
  if (systems.empty() || basis.size() <= n) return std::move(basis);
  std::vector<std::vector<std::size_t>> rows(
      static_cast<std::size_t>(std::ranges::max(systems)) + 1);
  for (std::size_t i = 0; i < n; ++i) rows[systems[i]].push_back(i);
  std::vector<double> result;
  result.reserve(basis.size());
  for (const std::vector<std::size_t>& own : rows) {
    PartOfBasis part{{}, own.size(), basis.size() / n};
    part.value.reserve(part.rows * part.vectors);
    for (std::size_t k = 0; k < basis.size(); k += n)
      for (const std::size_t i : own) part.value.push_back(basis[k + i]);
    std::vector<double> found;
    for (std::size_t count = 0; count < own.size(); ++count) {
      const auto [best, left] = part.largest();
      if (!(left > 0.5)) break;
      found.insert(found.end(), part.column(best).begin(), part.column(best).end());
      orthonormalise(found, own.size(), nullptr);
      const auto q = std::span(found).last(own.size());
      for (std::size_t k = 0; k < part.vectors; ++k) {
        const double share = product_of(q, part.column(k));
        for (std::size_t i = 0; i < own.size(); ++i) part.column(k)[i] -= share * q[i];
      }
      result.resize(result.size() + n);
      for (std::size_t i = 0; i < own.size(); ++i)
        result[result.size() - n + own[i]] = q[i];
    }
  }
  return result.size() == basis.size() ? std::move(result) : std::move(basis);
}

// The entries of the last rows and columns, from `inner` on, onto a dense block.
template <class T>
void add_kept(const SquareMatrix& a, std::int32_t inner, T* block) {
  const std::int64_t kept = a.size() - inner;
  for (std::int32_t j = 0; j < kept; ++j)
    for (auto k = a.lower.column_start[inner + j];
         k < a.lower.column_start[inner + j + 1]; ++k) {
      const std::int32_t i = a.lower.row[k] - inner;
      block[i + j * kept] += a.entry<T>(k);
      if (i != j) block[j + i * kept] += a.opposite<T>(k);
    }
}

// Each vector of n entries as one of the system that was given, times a power of two that
// keeps it among the numbers.
void take_outside(const ScaledPermutation& map, std::size_t n,
                  std::span<double> vectors) {
  const std::vector<double> scale = map.solution_scale();
  const std::size_t parts = scale.empty() ? 1 : n / scale.size();
  std::vector<double> outer(n);
  for (std::size_t k = 0; k < vectors.size(); k += n) {
    const std::span<double> own = vectors.subspan(k, n);
    std::optional<int> most;
    for (std::size_t i = 0; i < n && !scale.empty(); ++i)
      if (own[i] != 0)
        most = std::max(most.value_or(INT_MIN),
                        std::ilogb(own[i]) + std::ilogb(scale[i / parts]));
    for (double& each : own) each = std::ldexp(each, -most.value_or(0));
    map.solution_to_outer(own, outer);
    std::ranges::copy(outer, own.begin());
  }
}

// Takes a basis to the scaling that was given, where it has to hold as well: what is
// nothing beside a vector's norm in the one may be all of it in the other. Each
// correction makes what is left of that less by the precision of a solve.
class GivenBasis {
 public:
  GivenBasis(const MatrixPart& a, const ScaledPermutation& map, Operation operation,
             std::vector<double>&& basis)
      : a_(a),
        map_(map),
        operation_(operation),
        n_(static_cast<std::size_t>(a.here().vector_size())),
        basis_(std::move(basis)),
        inner_(basis_.size()),
        products_(basis_.size()),
        inverse_scale_(map.solution_scale()) {
    for (double& each : inverse_scale_) each = 1 / each;
    take_outside(map, n_, basis_);
    orthonormalise(basis_, n_, nullptr);
  }

  // @param solve  makes op(A)^-1 of vectors
  std::vector<double> corrected(const std::function<void(std::span<double>)>& solve) {
    double error = measure();
    for (int left = kGivenCorrections; left > 0 && !(error <= kNull); --left) {
      solve(products_);
      for (std::size_t k = 0; k < basis_.size(); k += n_)
        map_.solution_to_outer(part(products_, k), part(inner_, k));
      for (std::size_t k = 0; k < basis_.size(); ++k) basis_[k] -= inner_[k];
      orthonormalise(basis_, n_, nullptr);
      error = measure();
    }
    if (!(error <= kNullGiven))
      throw Error(
          fmt::format("null_space_basis: in the scaling of the matrix {} vectors "
                      "leave {:.1e} of a row",
                      basis_.size() / n_, error));
    return std::move(basis_);
  }

 private:
  [[nodiscard]] std::span<double> part(std::vector<double>& of, std::size_t at) const {
    return std::span(of).subspan(at, n_);
  }
  // Of the vectors as they are now; their products are left.
  double measure() {
    for (std::size_t k = 0; k < basis_.size(); k += n_)
      map_.solution_to_inner(part(basis_, k), part(inner_, k));
    return null_error(a_, operation_, inner_, products_, inverse_scale_);
  }

  MatrixPart a_;
  ScaledPermutation map_;
  Operation operation_;
  std::size_t n_;
  std::vector<double> basis_, inner_, products_, inverse_scale_;
};

}  // namespace

std::vector<double> Solver::Impl::apply_to_ones(Operation operation) const {
  if (processes_ && processes_->columns.empty() && vector_size() > 0)
    throw InvalidInput("apply_to_ones: on several processes plan first");
  const std::vector<double> given = ones(analysis_.permuted);
  std::vector<double> x(given.size()), sums(given.size());
  const ScaledPermutation map = this->map(operation);
  map.solution_to_inner(given, x);
  multiply(matrix(), operation, x, sums);
  map.rhs_to_outer(sums, x);
  return x;
}

Determinant Solver::Impl::determinant() const {
  if (!factored_) throw InvalidInput("determinant: factorise first");
  if (singular()) return {.mantissa = 0, .exponent = 0};
  const Symbolic& symbolic = analysis_.symbolic;
  Determinant result = numeric_->determinant(symbolic, tree_);
  if (!prepared_.row_of.empty() && parity(prepared_.row_of) < 0) result.multiply(-1);
  if (prepared_.row_scale.empty()) return result;
  for (std::int32_t k = 0; k < symbolic.inner(); ++k) {
    const std::int32_t i = symbolic.permutation[k];
    // Powers of two: exactly.
    result.exponent -= std::ilogb(prepared_.row_scale[i]);
    result.exponent -= std::ilogb(prepared_.column_scale[i]);
  }
  return result;
}

void Solver::Impl::schur(std::span<double> block) const {
  const Symbolic& symbolic = analysis_.symbolic;
  const std::int32_t inner = symbolic.inner();
  const std::int64_t kept = symbolic.kept();
  if (kept == 0) throw InvalidInput("schur: options.schur names no variables");
  if (!factored_) throw InvalidInput("schur: factorise first");
  const SquareMatrix& a = analysis_.permuted;
  if (std::ssize(block) != kept * kept * a.parts())
    throw InvalidInput(
        fmt::format("schur: {} entries for {} x {}", block.size(), kept, kept));
  if (singular())
    throw InvalidInput("schur: the block of the other variables is singular");
  numeric_->read_kept_block(symbolic, tree_, block);
  if (a.complex)
    add_kept(a, inner, reinterpret_cast<Complex*>(block.data()));
  else
    add_kept(a, inner, block.data());
  const auto place = std::span(symbolic.permutation).subspan(inner);
  const std::int64_t parts = a.parts();
  for (std::int32_t j = 0; j < kept; ++j)
    for (std::int64_t k = 0; k < kept * parts; ++k)
      block[k + j * kept * parts] /=
          prepared_.row_scale[place[k / parts]] * prepared_.column_scale[place[j]];
}

// Null vectors begin with one unmatched unknown each, of which the others follow.
// @return the vectors after those
std::span<double> Solver::Impl::set_unmatched(std::span<double> basis) const {
  const auto n = static_cast<std::size_t>(vector_size());
  const auto parts = static_cast<std::size_t>(analysis_.permuted.parts());
  std::size_t at = 0;
  for (const std::int32_t each : analysis_.form.coupling.unmatched)
    for (std::size_t part = 0; part < parts && at < basis.size(); ++part, at += n)
      basis[at + each * parts + part] = 1;
  return basis.subspan(at);
}

// Worked on in the order and the scaling of the factor, given in those of the matrix.
std::vector<double> Solver::Impl::null_space_basis(Operation operation) {
  if (!factored_) throw InvalidInput("null_space_basis: factorise first");
  if (pivots_.perturbed > 0)
    throw InvalidInput("null_space_basis: pivots were perturbed, it is not known");
  const auto n = static_cast<std::size_t>(vector_size());
  const std::int64_t count = pivots_.null_space * analysis_.permuted.parts();
  if (count == 0) return {};
  const std::int32_t block = nrhs_at_once(
      static_cast<std::int32_t>(std::min<std::int64_t>(count, vector_size())));
  check_room_for_null_basis(count, block);
  std::vector<double> basis(n * static_cast<std::size_t>(count));
  const auto solve = [&](std::span<double> vectors, bool transposed) {
    const auto all = static_cast<std::int64_t>(vectors.size() / n);
    for (std::int64_t k = 0; k < all; k += block) {
      const auto now = static_cast<std::int32_t>(std::min<std::int64_t>(block, all - k));
      factored(transposed)(vectors.subspan(k * n, now * n), now);
    }
  };
  const auto find = [&] {
    find_null_basis(operation, solve, basis);
    const std::vector<std::int32_t> systems =
        by_part(independent_systems(analysis_.symbolic, analysis_.form), n);
    GivenBasis given(matrix(), map(operation), operation,
                     by_systems(std::move(basis), n, systems));
    basis = given.corrected([&](std::span<double> vectors) {
      solve(vectors, operation == Operation::kTransposed);
    });
  };
  with_open_solve(block, find, null_basis_bytes(count));
  return basis;
}

// @param basis  zeros; receives orthonormal vectors
void Solver::Impl::find_null_basis(
    Operation operation, const std::function<void(std::span<double>, bool)>& solve,
    std::span<double> basis) const {
  const auto n = static_cast<std::size_t>(vector_size());
  const bool transposed = operation == Operation::kTransposed;
  const std::span<double> sought = set_unmatched(basis);
  std::minstd_rand random(1);
  fill(sought, random);
  std::vector<double> products(basis.size());
  solve(sought, !transposed);
  orthonormalise(sought, n, &random);
  solve(sought, transposed);
  orthonormalise(sought, n, &random);
  double error = null_error(matrix(), operation, basis, products);
  for (int left = kBasisCorrections; left > 0 && error > kNull; --left) {
    solve(products, transposed);
    for (std::size_t k = 0; k < basis.size(); ++k) basis[k] -= products[k];
    orthonormalise(basis, n, &random);
    error = null_error(matrix(), operation, basis, products);
  }
  if (!(error <= kNullGiven))
    throw Error(fmt::format("null_space_basis: {} vectors leave {:.1e} of a row",
                            basis.size() / n, error));
}

}  // namespace espalier::solver
