#include "solver/refine/residual.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

namespace espalier::solver {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// Values of a triangle: of complex entries imaginary parts, too, times `sign`.
struct Values {
  const double* real;
  const double* imaginary;
  double sign;
};

// op(A) as its pattern and the values of the two triangles: of (i, j) and of (j, i). A
// transposed complex matrix is A^H: that of the real one which maps parts of numbers.
template <class T>
struct View {
  View(const MatrixPart& a, Operation operation)
      : part(a),
        transposed(operation == Operation::kTransposed),
        pattern(a.here().lower),
        below{pattern.value.data(), a.here().lower_imaginary.data(), 1},
        above(a.here().symmetric()
                  ? Values{below.real, below.imaginary, a.here().hermitian() ? -1.0 : 1.0}
                  : Values{a.here().upper.data(), a.here().upper_imaginary.data(), 1}) {
    if (!transposed) return;
    std::swap(below, above);
    below.sign = -below.sign;
    above.sign = -above.sign;
  }
  static T at(const Values& values, std::int64_t k) {
    if constexpr (kIsComplex<T>)
      return {values.real[k], values.sign * values.imaginary[k]};
    else
      return values.real[k];
  }
  const MatrixPart& part;
  bool transposed;
  const SymmetricMatrix& pattern;
  Values below, above;
};

// Calls entry(i, j, value) for each entry of op(A) below and above the diagonal and on
// it, by columns of the lower triangle; opposite entries one after the other;
// then for those of the coupling, which real matrices have.
template <class T, class Entry>
void for_each_entry(const View<T>& a, const Entry& entry) {
  const std::int64_t* const start = a.pattern.column_start.data();
  const std::int32_t* const row = a.pattern.row.data();
  const std::int32_t inner = a.part.inner();
  for (std::int32_t j = 0; j < inner; ++j) {
    std::int64_t k = start[j];
    std::int64_t end = start[j + 1];
    if (inner < a.pattern.size) end = std::lower_bound(row + k, row + end, inner) - row;
    if (k < end && row[k] == j) {
      entry(j, j, a.at(a.below, k));
      ++k;
    }
    for (; k < end; ++k) {
      entry(row[k], j, a.at(a.below, k));
      entry(j, row[k], a.at(a.above, k));
    }
  }
  for (std::int32_t i = inner; i < a.pattern.size; ++i) entry(i, i, T(1));
  if constexpr (!kIsComplex<T>)
    a.part.for_each_coupling([&](std::int32_t i, std::int32_t j, double value) {
      a.transposed ? entry(j, i, value) : entry(i, j, value);
    });
}

// |x|; of complex numbers whose squares stay in range, without hypot().
double modulus(double x) { return std::abs(x); }
double modulus(std::complex<double> x) {
  const double square = x.real() * x.real() + x.imag() * x.imag();
  return square > 1e-290 && square < 1e290 ? std::sqrt(square) : modulus_of(x);
}

bool is_finite(double x) { return std::isfinite(x); }
bool is_finite(std::complex<double> x) {
  return std::isfinite(x.real()) && std::isfinite(x.imag());
}

// A vector's numbers as the entries that they are parts of.
template <class T>
T* entries_of(std::span<double> x) {
  return reinterpret_cast<T*>(x.data());
}
template <class T>
const T* entries_of(std::span<const double> x) {
  return reinterpret_cast<const T*>(x.data());
}

// Entry i stands at the first of its parts: to all of them.
template <class T>
void spread(std::span<double> y) {
  for (std::size_t i = 0; kIsComplex<T> && i < y.size(); i += 2) y[i + 1] = y[i];
}

template <class T>
void subtract_product(const View<T>& a, const T* x, T* r) {
  for_each_entry(a,
                 [&](std::int32_t i, std::int32_t j, T value) { r[i] -= value * x[j]; });
}

// Calls body(T()) with the type of the matrix's entries.
template <class Body>
auto by_entries(const MatrixPart& a, const Body& body) {
  return a.here().complex ? body(std::complex<double>()) : body(double());
}

template <class T>
void add_moduli(const View<T>& a, const T* x, std::span<double> y) {
  for_each_entry(a, [&](std::int32_t i, std::int32_t j, T value) {
    y[kParts<T> * i] += modulus(value * x[j]);
  });
}

}  // namespace

void MatrixPart::sum(std::span<std::int32_t> counts) const {
  if (!sum_) return;
  std::array<double, 1024> piece{};
  while (!counts.empty()) {
    const std::size_t n = std::min(counts.size(), piece.size());
    std::copy_n(counts.begin(), n, piece.begin());
    sum_(std::span(piece).first(n));
    for (std::size_t k = 0; k < n; ++k) counts[k] = static_cast<std::int32_t>(piece[k]);
    counts = counts.subspan(n);
  }
}

std::vector<double> ones(const SquareMatrix& a) {
  std::vector<double> result(static_cast<std::size_t>(a.vector_size()), 1.0);
  for (std::size_t k = 1; a.complex && k < result.size(); k += 2) result[k] = 0;
  return result;
}

void multiply(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<double> y) {
  std::fill(y.begin(), y.end(), 0.0);
  by_entries(a, [&]<class T>(T) {
    subtract_product<T>({a, operation}, entries_of<T>(x), entries_of<T>(y));
  });
  for (double& each : y) each = -each;
  a.sum(y);
}

void multiply_moduli(const MatrixPart& a, Operation operation, std::span<const double> x,
                     std::span<double> y) {
  std::fill(y.begin(), y.end(), 0.0);
  by_entries(a, [&]<class T>(T) {
    add_moduli<T>({a, operation}, entries_of<T>(x), y);
    spread<T>(y);
  });
  a.sum(y);
}

void residual(const MatrixPart& a, Operation operation, std::span<const double> x,
              std::span<const double> b, std::span<double> r) {
  std::transform(b.begin(), b.end(), r.begin(), [&](double v) { return a.start(v); });
  by_entries(a, [&]<class T>(T) {
    subtract_product<T>({a, operation}, entries_of<T>(x), entries_of<T>(r));
  });
  a.sum(r);
}

void residual_rounding(const MatrixPart& a, Operation operation,
                       std::span<const double> x, std::span<const double> b,
                       std::span<double> bound) {
  std::vector<std::int32_t> entries(a.size(), 0);
  by_entries(a, [&]<class T>(T) {
    const T* const side = entries_of<T>(b);
    for (std::size_t i = 0; i < entries.size(); ++i)
      bound[kParts<T> * i] = a.start(modulus(side[i]));
    const T* const vector = entries_of<T>(x);
    const View<T> view(a, operation);
    for_each_entry(view, [&](std::int32_t i, std::int32_t j, T value) {
      bound[kParts<T> * i] += modulus(value * vector[j]);
      ++entries[i];
    });
    spread<T>(bound);
  });
  a.sum(bound);
  a.sum(entries);
  const auto parts = static_cast<std::size_t>(a.here().parts());
  // Products of complex numbers have an error of less than 3 u [Hig02, section 3.6].
  const double product = a.here().complex ? 3 : 1;
  for (std::size_t i = 0; i < bound.size(); ++i)
    bound[i] *= product * (entries[i / parts] + 1) * kRoundoff;
}

ErrorMeasure::ErrorMeasure(const MatrixPart& a, Operation operation,
                           const GivenUnknowns& given)
    : a_(a),
      operation_(operation),
      given_(given),
      row_sum_(a.size()),
      denominator_(a.here().vector_size()) {
  by_entries(a, [&]<class T>(T) {
    const View<T> view(a, operation);
    if (given.scale.empty())
      for_each_entry(view, [&](std::int32_t i, std::int32_t, T value) {
        row_sum_[i] += modulus(value);
      });
    else
      for_each_entry(view, [&](std::int32_t i, std::int32_t j, T value) {
        row_sum_[i] += modulus(value) / given.scale[kParts<T> * j];
      });
  });
  a.sum(row_sum_);
  const std::int32_t last =
      given.block.empty() ? 0 : *std::ranges::max_element(given.block);
  blocks_.resize(static_cast<std::size_t>(last) + 1);
  for (std::size_t i = 0; i < row_sum_.size(); ++i) block(i).small += 1000 * kRoundoff;
}

BackwardError ErrorMeasure::operator()(std::span<const double> x,
                                       std::span<const double> b, std::span<double> r) {
  return by_entries(
      a_, [&]<class T>(T) { return measure(entries_of<T>(x), entries_of<T>(b), r); });
}

template <class T>
BackwardError ErrorMeasure::measure(const T* x, const T* b, std::span<double> residual) {
  constexpr std::int32_t kStep = kParts<T>;
  T* const r = entries_of<T>(residual);
  double* const w = denominator_.data();
  const std::size_t rows = row_sum_.size();
  for (Block& each : blocks_) each.x_norm = 0;
  bool finite = true;
  for (std::size_t i = 0; i < rows; ++i) {
    if constexpr (kIsComplex<T>)
      r[i] = b[i];
    else
      r[i] = a_.start(b[i]);
    w[kStep * i] = a_.start(modulus(b[i]));
    double& x_norm = block(i).x_norm;
    x_norm = std::max(x_norm, modulus(x[i]) * scale(kStep * i));
    finite = finite && is_finite(x[i]);
  }
  const View<T> view(a_, operation_);
  for_each_entry(view, [&](std::int32_t i, std::int32_t j, T value) {
    const T product = value * x[j];
    r[i] -= product;
    w[kStep * i] += modulus(product);
  });
  a_.sum(residual);
  a_.sum(denominator_);
  if (!finite) return {kInfinity, 0};  // an empty column of A would not show it
  BackwardError error;
  for (std::size_t i = 0; i < rows; ++i) {
    double& own_w = w[kStep * i];
    if (!std::isfinite(own_w)) return {kInfinity, 0};
    const Block& own = block(i);
    const double row = row_sum_[i] * own.x_norm, size = modulus(r[i]);
    const double side = modulus(b[i]);
    const bool first = own_w > own.small * (row + side) || !std::isfinite(row);
    if (!first) {
      if (size != 0) error.strict = std::max(error.strict, size / own_w);
      own_w += row - side;
    }
    if (size == 0) continue;
    double& omega = first ? error.omega1 : error.omega2;
    omega = std::max(omega, size / own_w);
  }
  spread<T>(denominator_);
  return error;
}

}  // namespace espalier::solver
