// One walk over the entries of a matrix, and all that is summed up on it: over 300 lines.

#include "solver/refine/residual.h"
#include "espalier/model/numbers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <complex>
#include <limits>
#include <utility>

namespace espalier::solver {
namespace {

constexpr double kRoundoff = std::numeric_limits<double>::epsilon() / 2;
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

// Calls column(j, begin, end) with the entries [begin, end) of each column of the
// pattern, the first of which may be on the diagonal.
template <class T, class Column>
void for_each_column(const View<T>& a, const Column& column) {
  const std::int64_t* const start = a.pattern.column_start.data();
  const std::int32_t* const row = a.pattern.row.data();
  const std::int32_t inner = a.part.inner();
  for (std::int32_t j = 0; j < inner; ++j) {
    const std::int64_t k = start[j];
    std::int64_t end = start[j + 1];
    if (inner < a.pattern.size) end = std::lower_bound(row + k, row + end, inner) - row;
    column(j, k, end);
  }
}

// entry(i, j, value) of op(A) for the entries of the coupling of A.
template <class T, class Entry>
auto of_coupling(const View<T>& a, const Entry& entry) {
  return [&](std::int32_t i, std::int32_t j, T value) {
    if constexpr (kIsComplex<T>)
      a.transposed ? entry(j, i, std::conj(value)) : entry(i, j, value);
    else
      a.transposed ? entry(j, i, value) : entry(i, j, value);
  };
}

// Calls entry(i, j, value) for what is not in these columns: the diagonal after inner(),
// and the coupling.
template <class T, class Entry>
void for_each_beside(const View<T>& a, const Entry& entry) {
  for (std::int32_t i = a.part.inner(); i < a.pattern.size; ++i) entry(i, i, T(1));
  a.part.template for_each_coupling<T>(of_coupling(a, entry));
}

// Calls entry(i, j, value) for each entry of op(A), by columns of the lower triangle,
// opposite entries one after the other.
template <class T, class Entry>
void for_each_entry(const View<T>& a, const Entry& entry) {
  const std::int32_t* const row = a.pattern.row.data();
  for_each_column(a, [&](std::int32_t j, std::int64_t k, std::int64_t end) {
    if (k < end && row[k] == j) {
      entry(j, j, a.at(a.below, k));
      ++k;
    }
    for (; k < end; ++k) {
      entry(row[k], j, a.at(a.below, k));
      entry(j, row[k], a.at(a.above, k));
    }
  });
  for_each_beside(a, entry);
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

// r -= op(A) x, and with moduli w += |op(A)| |x|. What a column's own row gets is added
// up first.
template <bool kModuli, class T>
class SubtractedProduct {
 public:
  SubtractedProduct(const View<T>& a, const T* x, T* r, double* w)
      : a_(a), row_(a.pattern.row.data()), x_(x), r_(r), w_(w) {}

  void run() {
    if (SpreadRows* const rows = a_.part.rows()) return run_in_order(*rows);
    const auto any = [](std::int32_t) { return true; };
    for_each_column(a_, [&](std::int32_t j, std::int64_t k, std::int64_t end) {
      take(j, k, end, any);
    });
    for_each_beside(
        a_, [&](std::int32_t i, std::int32_t j, T value) { subtract(i, value * x_[j]); });
  }

 private:
  void run_in_order(SpreadRows& rows) {
    const std::int64_t* const start = a_.pattern.column_start.data();
    const SpreadRows::Product<T> product = [&](std::int64_t k, std::int32_t j) {
      return a_.at(a_.below, k) * x_[j];
    };
    const SpreadRows::Arrived<T> arrived = [&](std::int32_t i, T value) {
      subtract(i, value);
    };
    rows.in_order(
        product,
        [&](std::int32_t begin, std::int32_t end) {
          const auto here = [&](std::int32_t i) { return i < end || rows.is_here(i); };
          for (std::int32_t j = begin; j < end; ++j)
            take(j, start[j], start[j + 1], here);
        },
        arrived);
    const auto couple = [&](std::int32_t i, std::int32_t j, T value) {
      if (rows.is_here(i)) subtract(i, value * x_[j]);
    };
    a_.part.template for_each_coupling_anywhere<T>(of_coupling(a_, couple));
  }

  void subtract(std::int32_t i, T product) {
    r_[i] -= product;
    if constexpr (kModuli) w_[kParts<T> * i] += modulus(product);
  }

  // A column, and the row of its number; of the rows below those that are here.
  template <class Here>
  void take(std::int32_t j, std::int64_t k, std::int64_t end, const Here& here) {
    const T own = x_[j];
    T sum = 0;
    double moduli = 0;
    const auto add = [&](T product) {
      sum += product;
      if constexpr (kModuli) moduli += modulus(product);
    };
    if (k < end && row_[k] == j) add(a_.at(a_.below, k++) * own);
    for (; k < end; ++k) {
      add(a_.at(a_.above, k) * x_[row_[k]]);
      if (here(row_[k])) subtract(row_[k], a_.at(a_.below, k) * own);
    }
    r_[j] -= sum;
    if constexpr (kModuli) w_[kParts<T> * j] += moduli;
  }

  const View<T> a_;
  const std::int32_t* const row_;
  const T* const x_;
  T* const r_;
  double* const w_;
};

template <bool kModuli, class T>
void subtract_product(const View<T>& a, const T* x, T* r, double* w) {
  SubtractedProduct<kModuli, T>(a, x, r, w).run();
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

// The norms of the unknowns of each system. @return whether all are finite
template <class T, class Block, class Scale>
bool measure_unknowns(std::span<const T> x, const GivenUnknowns& given,
                      const Scale& scale, std::vector<Block>& blocks) {
  for (Block& each : blocks) each.x_norm = 0;
  bool finite = true;
  double of_all = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    double& norm = given.block.empty() ? of_all : blocks[given.block[i]].x_norm;
    norm = std::max(norm, modulus(x[i]) * scale(kParts<T> * i));
    finite = finite && is_finite(x[i]);
  }
  if (given.block.empty()) blocks[0].x_norm = of_all;
  return finite;
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
    subtract_product<false, T>({a, operation}, entries_of<T>(x), entries_of<T>(y),
                               nullptr);
  });
  for (double& each : y) each = -each;
  a.sum_rows(y);
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
  std::transform(b.begin(), b.end(), r.begin(), [&](double v) { return a.start_row(v); });
  by_entries(a, [&]<class T>(T) {
    subtract_product<false, T>({a, operation}, entries_of<T>(x), entries_of<T>(r),
                               nullptr);
  });
  a.sum_rows(r);
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

namespace {

// r := b - A x, w := |A| |x| + |b|.
void residual_and_moduli(const SymmetricMatrix& a, const double* x, const double* b,
                         double* r, double* w) {
  for (std::int32_t i = 0; i < a.size; ++i) r[i] = b[i], w[i] = std::abs(b[i]);
  const std::int32_t* const row = a.row.data();
  const double* const value = a.value.data();
  for (std::int32_t j = 0; j < a.size; ++j) {
    const double own = x[j];
    double sum = 0, moduli = 0;
    std::int64_t k = a.column_start[j];
    const std::int64_t end = a.column_start[j + 1];
    if (k < end && row[k] == j) {
      sum = value[k++] * own;
      moduli = std::abs(sum);
    }
    for (; k < end; ++k) {
      const double across = value[k] * x[row[k]], below = value[k] * own;
      sum += across;
      moduli += std::abs(across);
      r[row[k]] -= below;
      w[row[k]] += std::abs(below);
    }
    r[j] -= sum;
    w[j] += moduli;
  }
}

}  // namespace

std::optional<CleanError> clean_error(const SymmetricMatrix& a, double largest,
                                      std::span<const double> x,
                                      std::span<const double> b, std::span<double> work) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::size_t n = x.size();
  double* const r = work.data();
  double* const w = r + n;
  residual_and_moduli(a, x.data(), b.data(), r, w);
  CleanError result{0, 0, 0};
  for (std::size_t i = 0; i < n; ++i) {
    result.x_norm = std::max(result.x_norm, std::abs(x[i]));
    result.b_norm = std::max(result.b_norm, std::abs(b[i]));
  }
  const double count = static_cast<double>(n), small = 1000 * count * kRoundoff;
  const double row = 2 * largest * count * result.x_norm;
  bool clean = row <= kMost;
  for (std::size_t i = 0; i < n; ++i) {
    clean &= w[i] > small * (row + std::abs(b[i])) && w[i] <= kMost;
    result.error = std::max(result.error, std::abs(r[i]) / w[i]);
  }
  if (!clean) return std::nullopt;
  return result;
}

ErrorMeasure::ErrorMeasure(const MatrixPart& a, Operation operation,
                           const GivenUnknowns& given)
    : a_(a), operation_(operation), given_(given), denominator_(a.here().vector_size()) {
  const std::int32_t last =
      given.block.empty() ? 0 : *std::ranges::max_element(given.block);
  blocks_.resize(static_cast<std::size_t>(last) + 1);
  for (std::int32_t i = 0; i < a.size(); ++i) block(i).small += 1000 * kRoundoff;
  // |re| + |im| of a complex number is no less than its modulus, nor this less than that.
  most_ = 2 * given.largest_entry * a.size();
  if (!given.scale.empty()) most_ /= *std::ranges::min_element(given.scale);
  if (!a.is_whole() || !(most_ > 0) || !std::isfinite(most_)) add_up_rows();
}

void ErrorMeasure::add_up_rows() {
  row_sum_.resize(a_.size());
  by_entries(a_, [&]<class T>(T) {
    const View<T> view(a_, operation_);
    if (given_.scale.empty())
      for_each_entry(view, [&](std::int32_t i, std::int32_t, T value) {
        row_sum_[i] += modulus(value);
      });
    else
      for_each_entry(view, [&](std::int32_t i, std::int32_t j, T value) {
        row_sum_[i] += modulus(value) / given_.scale[kParts<T> * j];
      });
  });
  a_.sum(row_sum_);
}

// Whether all rows are of class 1 even by most_ in place of their sums.
template <class T>
bool ErrorMeasure::all_are_large(const T* b) {
  const double* const w = denominator_.data();
  const auto is_large = [&](std::int32_t i, const Block& own) {
    return w[kParts<T> * i] > own.small * (most_ * own.x_norm + modulus(b[i])) &&
           std::isfinite(w[kParts<T> * i]);
  };
  std::int32_t i = 0;
  if (given_.block.empty())
    for (const Block own = blocks_[0]; i < a_.size() && is_large(i, own);) ++i;
  else
    while (i < a_.size() && is_large(i, block(i))) ++i;
  return i == a_.size();
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
  const std::int32_t rows = a_.size();
  const auto scale_of = [this](std::size_t j) { return scale(j); };
  const bool finite =
      measure_unknowns<T>({x, static_cast<std::size_t>(rows)}, given_, scale_of, blocks_);
  for (std::int32_t i = 0; i < rows; ++i) {
    r[i] = a_.start_row(b[i]);
    w[kStep * i] = a_.start_row(modulus(b[i]));
  }
  subtract_product<true, T>({a_, operation_}, x, r, w);
  a_.sum_rows(residual);
  a_.sum_rows(denominator_);
  if (!finite) return {kInfinity, 0};  // an empty column of A would not show it
  const bool all_first = row_sum_.empty() && all_are_large(b);
  if (!all_first && row_sum_.empty()) add_up_rows();
  BackwardError error;
  for (std::int32_t i = 0; i < rows; ++i) {
    double& own_w = w[kStep * i];
    if (!std::isfinite(own_w)) return {kInfinity, 0};
    const double size = modulus(r[i]);
    bool first = all_first;
    if (!first) {
      const Block& own = block(i);
      const double row = row_sum_[i] * own.x_norm, side = modulus(b[i]);
      first = own_w > own.small * (row + side) || !std::isfinite(row);
      if (!first && size != 0) error.strict = std::max(error.strict, size / own_w);
      if (!first) own_w += row - side;
    }
    if (size == 0) continue;
    double& omega = first ? error.omega1 : error.omega2;
    omega = std::max(omega, size / own_w);
  }
  spread<T>(denominator_);
  return error;
}

}  // namespace espalier::solver
