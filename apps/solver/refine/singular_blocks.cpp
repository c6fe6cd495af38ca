#include "solver/refine/singular_blocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <span>
#include <vector>

#include "espalier/model/numbers.h"
#include "solver/refine/product_of.h"
#include "solver/refine/residual.h"

namespace espalier::solver {
namespace {

// Part of || |A| |p| || that q^T A p is, from which on it is no rounding. Not of
// sum |q| |A| |p|: where no entry is between q and p that is rounding, too.
constexpr double kPivot = 1e-10;
// Of vectors by T: where they grow by more, through one singular block after another that
// is nearly singular beside, what there is to be told is lost in their rounding.
constexpr double kMostGrowth = 1e4;
// What T leaves of a vector beside the others', of solves in double and single precision.
constexpr double kRounding = 1e-8, kRoughRounding = 1e-4;
constexpr int kSweeps = 40;  // of Jacobi rotations, at most; some ten do

// A few vectors of n numbers, one after the other.
struct Vectors {
  std::vector<double> value;
  std::size_t n;
  [[nodiscard]] std::size_t count() const { return n == 0 ? 0 : value.size() / n; }
  [[nodiscard]] std::span<double> operator[](std::size_t k) {
    return std::span(value).subspan(k * n, n);
  }
  [[nodiscard]] std::span<const double> operator[](std::size_t k) const {
    return std::span(value).subspan(k * n, n);
  }
};

// x and y turned until they are at right angles. @return false: they were
bool turn(std::span<double> x, std::span<double> y, std::span<double> of_x,
          std::span<double> of_y) {
  const double xx = product_of(x, x), yy = product_of(y, y), xy = product_of(x, y);
  if (!(std::abs(xy) > std::numeric_limits<double>::epsilon() * std::sqrt(xx * yy)))
    return false;
  const double zeta = (yy - xx) / (2 * xy);
  const double t = std::copysign(1 / (std::abs(zeta) + std::hypot(1.0, zeta)), zeta);
  const double c = 1 / std::hypot(1.0, t), s = c * t;
  const auto rotate = [c, s](std::span<double> a, std::span<double> b) {
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double first = a[i], second = b[i];
      a[i] = c * first - s * second;
      b[i] = s * first + c * second;
    }
  };
  rotate(x, y);
  rotate(of_x, of_y);
  return true;
}

// Singular values by rotations of columns [Hestenes 1958]: S V = W diag(values).
struct SingularValues {
  Vectors left, right;
  std::vector<double> value;

  explicit SingularValues(Vectors&& s)
      : left(std::move(s)), right{std::vector<double>(left.n * left.n), left.n} {
    const std::size_t k = left.n;
    for (std::size_t i = 0; i < k; ++i) right[i][i] = 1;
    bool turned = true;
    for (int sweep = 0; turned && sweep < kSweeps; ++sweep) {
      turned = false;
      for (std::size_t i = 0; i < k; ++i)
        for (std::size_t j = i + 1; j < k; ++j)
          turned |= turn(left[i], left[j], right[i], right[j]);
    }
    for (std::size_t i = 0; i < k; ++i) {
      value.push_back(std::sqrt(product_of(left[i], left[i])));
      if (value.back() > 0)
        for (double& each : left[i]) each /= value.back();
    }
  }
};

// Of a symmetric matrix its eigenvalues, which are positive once enough is added.
SingularValues eigenvalues(Vectors&& s) {
  const double shift = 2 * std::sqrt(product_of(s.value, s.value));
  for (std::size_t i = 0; i < s.n; ++i) s[i][i] += shift;
  SingularValues result(std::move(s));
  for (double& each : result.value) each -= shift;
  return result;
}

// Gram and Schmidt, twice. A vector becomes zero of which no more than the part
// `rounding` is its own.
void orthonormalise(Vectors& vectors, double rounding) {
  for (std::size_t k = 0; k < vectors.count(); ++k)
    for (int pass = 0; pass < 2; ++pass) {
      const std::span<double> own = vectors[k];
      const double before = std::sqrt(product_of(own, own));
      for (std::size_t other = 0; other < k; ++other) {
        const double part = product_of(own, vectors[other]);
        for (std::size_t i = 0; i < own.size(); ++i) own[i] -= part * vectors[other][i];
      }
      const double norm = std::sqrt(product_of(own, own));
      for (double& each : own) each = norm > rounding * before ? each / norm : 0;
    }
}

// vectors := vectors times a square matrix.
void combine(Vectors& vectors, const Vectors& by) {
  std::vector<double> row(vectors.count());
  for (std::size_t i = 0; i < vectors.n; ++i) {
    for (std::size_t k = 0; k < row.size(); ++k) row[k] = vectors[k][i];
    for (std::size_t k = 0; k < row.size(); ++k) vectors[k][i] = product_of(row, by[k]);
  }
}

// The Gram matrix of what vectors have in the rows of one system.
Vectors gram_of_system(const Vectors& vectors, std::span<const std::int32_t> systems,
                       std::int32_t system) {
  const std::size_t count = vectors.count();
  Vectors gram{std::vector<double>(count * count), count};
  std::vector<double> row(count);
  for (std::size_t i = 0; i < vectors.n; ++i) {
    if (systems[i * systems.size() / vectors.n] != system) continue;
    for (std::size_t k = 0; k < count; ++k) row[k] = vectors[k][i];
    for (std::size_t k = 0; k < count; ++k)
      for (std::size_t l = 0; l < count; ++l) gram[l][k] += row[k] * row[l];
  }
  return gram;
}

// What of all vectors' squares is in the rows of each system.
std::vector<double> shares_of_systems(const Vectors& vectors,
                                      std::span<const std::int32_t> systems) {
  std::vector<double> share(static_cast<std::size_t>(std::ranges::max(systems)) + 1);
  for (std::size_t k = 0; k < vectors.count(); ++k)
    for (std::size_t i = 0; i < vectors.n; ++i)
      share[systems[i * systems.size() / vectors.n]] += vectors[k][i] * vectors[k][i];
  return share;
}

// Orthonormal vectors that span the columns of a projection of rank `rank`, the largest
// first.
void add_columns(Vectors&& projection, std::int64_t rank, Vectors& to) {
  for (; rank > 0; --rank) {
    std::size_t best = 0;
    double most = -1;
    for (std::size_t k = 0; k < projection.count(); ++k) {
      const double square = product_of(projection[k], projection[k]);
      if (square > most) most = square, best = k;
    }
    std::vector<double> own(projection[best].begin(), projection[best].end());
    for (double& each : own) each /= std::sqrt(most);
    for (std::size_t k = 0; k < projection.count(); ++k) {
      const double part = product_of(own, projection[k]);
      for (std::size_t i = 0; i < own.size(); ++i) projection[k][i] -= part * own[i];
    }
    to.value.insert(to.value.end(), own.begin(), own.end());
  }
}

// T makes vectors of one system of such. So orthonormal ones that span all it makes can
// be turned until each is of one system: or rounding of the one would be in the solutions
// of all others, some of which are zero. The Gram matrices of systems are projections
// then, onto spaces at right angles, and what of all squares is in one is a whole number.
// Where unmatched variables let T make more than there are vectors it is none.
void part_by_systems(Vectors& vectors, std::span<const std::int32_t> systems,
                     double rounding) {
  if (systems.empty() || vectors.count() == 0) return;
  constexpr double kWhole = 1e-6;
  Vectors turns{{}, vectors.count()};
  std::vector<std::int32_t> system_of;
  const std::vector<double> share = shares_of_systems(vectors, systems);
  for (const double each : share)
    if (!(std::abs(each - std::round(each)) <= kWhole)) return;
  for (std::size_t system = 0; system < share.size(); ++system) {
    const std::int64_t rank = std::llround(share[system]);
    if (rank == 0) continue;
    const auto own = static_cast<std::int32_t>(system);
    add_columns(gram_of_system(vectors, systems, own), rank, turns);
    system_of.resize(turns.count(), own);
  }
  turns.value.resize(turns.n * turns.n);
  system_of.resize(turns.n);
  orthonormalise(turns, rounding);
  combine(vectors, turns);
  for (std::size_t k = 0; k < vectors.count(); ++k)
    for (std::size_t i = 0; i < vectors.n; ++i)
      if (systems[i * systems.size() / vectors.n] != system_of[k]) vectors[k][i] = 0;
  orthonormalise(vectors, rounding);
}

// T or T'^T of random vectors.
// @param growth  receives how much larger T made them
Vectors without_pivots(const SingularBlocks& blocks, bool transposed, double& growth) {
  const Operation operation = transposed ? Operation::kTransposed : Operation::kPlain;
  const BlockOperator& solve = transposed ? blocks.solve_transposed : blocks.solve;
  Vectors result{{}, static_cast<std::size_t>(blocks.a.here().vector_size())};
  result.value.resize(result.n * static_cast<std::size_t>(blocks.zeros));
  std::minstd_rand random(transposed ? 2 : 1);
  std::uniform_real_distribution<> number(-1, 1);
  for (double& each : result.value) each = number(random);
  const double before = product_of(result.value, result.value);
  std::vector<double> product(result.n);
  const double rounding = blocks.rounds > 1 ? kRoughRounding : kRounding;
  for (int round = 0; round < blocks.rounds; ++round) {
    for (std::size_t k = 0; k < result.count(); ++k) {
      multiply(blocks.a, operation, result[k], product);
      solve(product, 1);
      for (std::size_t i = 0; i < result.n; ++i) result[k][i] -= product[i];
    }
    if (round == 0) growth = std::sqrt(product_of(result.value, result.value) / before);
    orthonormalise(result, rounding);
  }
  part_by_systems(result, blocks.systems, rounding);
  return result;
}

// Those of the symmetric matrix's rows, in the order of A's.
Vectors exchanged(const Vectors& vectors, const std::vector<std::int32_t>& order) {
  Vectors result = vectors;
  if (order.empty()) return result;
  const std::size_t parts = vectors.n / order.size();
  for (std::size_t k = 0; k < vectors.count(); ++k)
    for (std::size_t i = 0; i < vectors.n; ++i)
      result[k][i] = vectors[k][order[i / parts] * parts + i % parts];
  return result;
}

}  // namespace

CoupledPivots::CoupledPivots(const SingularBlocks& blocks)
    : n_(static_cast<std::size_t>(blocks.a.here().vector_size())) {
  const bool symmetric = blocks.exchanged.has_value();
  double growth = 1, other_growth = 1;
  Vectors p = without_pivots(blocks, false, growth);
  Vectors q = symmetric ? exchanged(p, *blocks.exchanged)
                        : without_pivots(blocks, true, other_growth);
  if (!(std::max(growth, other_growth) <= kMostGrowth)) return;
  const std::size_t count = p.count();
  Vectors s{std::vector<double>(count * count), count};
  std::vector<double> product(n_);
  for (std::size_t j = 0; j < count; ++j) {
    multiply(blocks.a, Operation::kPlain, p[j], product);
    for (std::size_t i = 0; i < count; ++i) s[j][i] = product_of(q[i], product);
  }
  for (std::size_t j = 0; symmetric && j < count; ++j)
    for (std::size_t i = 0; i < j; ++i) s[j][i] = s[i][j] = (s[j][i] + s[i][j]) / 2;
  const SingularValues found =
      symmetric ? eigenvalues(std::move(s)) : SingularValues(std::move(s));
  combine(p, found.right);
  combine(q, symmetric ? found.right : found.left);
  for (std::size_t k = 0; k < count; ++k) {
    multiply_moduli(blocks.a, Operation::kPlain, p[k], product);
    const double most = std::sqrt(product_of(product, product));
    const double value = found.value[k];
    if (most == 0 || !(std::abs(value) > kPivot * most)) continue;
    for (double& each : p[k]) each /= value;
    const auto to = static_cast<std::size_t>(gained_++);
    std::ranges::copy(p[k], p[to].begin());
    std::ranges::copy(q[k], q[to].begin());
    negative_ += symmetric && value < 0;
  }
  right_ = std::move(p.value);
  left_ = std::move(q.value);
  right_.resize(n_ * static_cast<std::size_t>(gained_));
  left_.resize(right_.size());
}

void CoupledPivots::complete(const MatrixPart& a, bool transposed,
                             std::span<const double> b, std::span<double> x) const {
  std::vector<double> r(n_);
  residual(a, transposed ? Operation::kTransposed : Operation::kPlain, x, b, r);
  const std::vector<double>& to = transposed ? left_ : right_;
  const std::vector<double>& from = transposed ? right_ : left_;
  for (std::size_t at = 0; at < to.size(); at += n_) {
    const double part = product_of(std::span(from).subspan(at, n_), r);
    for (std::size_t i = 0; i < n_; ++i) x[i] += part * to[at + i];
  }
}

void CoupledPivots::solve(const MatrixPart& a, bool transposed, std::span<double> block,
                          std::int32_t nrhs, const BlockOperator& by_blocks) const {
  for (std::int32_t k = 0; k < nrhs; ++k) {
    const std::span<double> x = block.subspan(static_cast<std::size_t>(k) * n_, n_);
    const std::vector<double> b(x.begin(), x.end());
    by_blocks(x, 1);
    complete(a, transposed, b, x);
  }
}

Bytes CoupledPivots::bytes(std::int64_t size, std::int64_t zeros) {
  // P, Q, a product, and the vectors of a solve.
  return checked_mul(checked_mul(size, checked_add(checked_mul(2, zeros), 3)),
                     static_cast<Bytes>(sizeof(double)));
}

}  // namespace espalier::solver
