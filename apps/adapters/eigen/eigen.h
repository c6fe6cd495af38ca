#pragma once

// Espalier's solver for Eigen's sparse matrices, of double or std::complex<double>, with
// the interface of Eigen's own direct solvers: analyzePattern(), factorize(), compute(),
// solve(). Needs Eigen 3.4 and libespalier_solver.so; nothing else of Espalier.
// Over 300 lines, so that one file is all that a program includes.
//
//     espalier::EspalierLDLT<Eigen::SparseMatrix<double>> solver;
//     solver.setMemory("2GiB");
//     solver.compute(A);
//     if (solver.info() != Eigen::Success) std::cerr << solver.lastErrorMessage();
//     x = solver.solve(b);

#include <espalier_solver.h>

#include <Eigen/SparseCore>
#include <algorithm>
#include <cerrno>
#include <cmath>
#include <complex>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <type_traits>

namespace espalier {

template <class Derived>
class EspalierBase;

namespace eigen {

/// What a solver of Eigen's is told by its type.
template <class Derived>
struct Traits;

/// Storage by columns or rows, in place.
inline void fill(espalier_solver_input& input, const void* starts, const void* indices,
                 bool by_rows) {
  input.format = by_rows ? ESPALIER_SOLVER_ROWS : ESPALIER_SOLVER_COLUMNS;
  input.starts = starts;
  (by_rows ? input.columns : input.rows) = indices;
}

}  // namespace eigen

/// What the three solvers share.
///
/// analyzePattern() keeps the pattern only: scaling and matching look at values, so that
/// the analysis is made by the first factorize() after it. Later ones take values alone;
/// a matrix of another pattern is refused.
template <class Derived>
class EspalierBase : public Eigen::SparseSolverBase<Derived> {
  using Base = Eigen::SparseSolverBase<Derived>;
  using Traits = eigen::Traits<Derived>;

 protected:
  using Base::derived;
  using Base::m_isInitialized;

 public:
  using MatrixType = typename Traits::MatrixType;
  using Scalar = typename MatrixType::Scalar;
  using RealScalar = typename MatrixType::RealScalar;
  using StorageIndex = typename MatrixType::StorageIndex;
  enum {
    ColsAtCompileTime = Eigen::Dynamic,
    MaxColsAtCompileTime = Eigen::Dynamic,
    UpLo = Traits::kUpLo  ///< 0: the whole matrix is read
  };
  static constexpr bool kComplex = std::is_same_v<Scalar, std::complex<double>>;
  static_assert(kComplex || std::is_same_v<Scalar, double>,
                "matrices of double or std::complex<double>");
  static_assert(sizeof(StorageIndex) == 4 || sizeof(StorageIndex) == 8);

  EspalierBase() = default;
  EspalierBase(const EspalierBase&) = delete;
  EspalierBase& operator=(const EspalierBase&) = delete;

  /// A bound on the memory of the process: "2GiB", "min", "auto", "none" (the default).
  /// From the next analysis on, which the factorize() after a refusal begins with.
  Derived& setMemory(std::string bound) {
    bound_ = std::move(bound);
    return derived();
  }
  /// The options of the C interface; the kind is this class's. From the next analysis on.
  espalier_solver_options& options() { return options_; }

  [[nodiscard]] Eigen::Index rows() const { return order_; }
  [[nodiscard]] Eigen::Index cols() const { return order_; }
  [[nodiscard]] Eigen::ComputationInfo info() const { return info_; }
  [[nodiscard]] std::string lastErrorMessage() const { return error_; }

  Derived& compute(const MatrixType& matrix) {
    analyzePattern(matrix);
    factorize(matrix);
    return derived();
  }

  void analyzePattern(const MatrixType& matrix) {
    solver_.reset();
    order_ = matrix.rows();
    info_ = Eigen::Success;
    error_.clear();
    m_isInitialized = true;
    isFactored_ = false;
  }

  void factorize(const MatrixType& given) {
    eigen_assert(m_isInitialized && "analyzePattern() comes first");
    isFactored_ = false;
    if (!fits(given)) return;
    MatrixType copy;
    const MatrixType& matrix = relevant(given, copy);
    if (solver_ && fingerprint_ != fingerprint(matrix)) {
      info_ = Eigen::InvalidInput;
      error_ = "a matrix of another pattern than was analysed";
      return;
    }
    if (solver_)
      note(espalier_solver_factorise_values(solver_.get(), doubles(matrix.valuePtr()),
                                            matrix.nonZeros()));
    else
      note(analyse(matrix));
    if (info_ != Eigen::Success) return;
    if (statistics().singular != 0) {
      error_ = "the matrix is singular to working precision";
      info_ = Eigen::NumericalIssue;
      return;
    }
    isFactored_ = true;
  }

  /// Called by solve(). Right-hand sides by columns are read where they are.
  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::MatrixBase<Rhs>& b, Eigen::MatrixBase<Dest>& x) const {
    solveInto(0, b, x);
  }
  template <class Rhs, class Dest>
  void _solve_impl(const Eigen::SparseMatrixBase<Rhs>& b,
                   Eigen::SparseMatrixBase<Dest>& x) const {
    Eigen::internal::solve_sparse_through_dense_panels(derived(), b.derived(),
                                                       x.derived());
  }

  /// The determinant, after factorize(). Infinite or 0 beyond the range of Scalar.
  [[nodiscard]] Scalar determinant() const {
    eigen_assert(isFactored_ && "factorize() comes first and must succeed");
    RealScalar mantissa = 0, argument = 0;
    std::int64_t exponent = 0;
    if constexpr (kComplex)
      note(espalier_solver_read_complex_determinant(solver_.get(), &mantissa, &exponent,
                                                    &argument));
    else
      note(espalier_solver_read_determinant(solver_.get(), &mantissa, &exponent));
    constexpr std::int64_t kMost = 5000;  // beyond all numbers
    const RealScalar value = std::ldexp(
        mantissa, static_cast<int>(std::clamp<std::int64_t>(exponent, -kMost, kMost)));
    if constexpr (kComplex)
      return std::polar(value, argument);
    else
      return value;
  }

  /// What is known of the factorisation and of the last solve.
  [[nodiscard]] espalier_solver_statistics statistics() const {
    espalier_solver_statistics facts{};
    facts.size = sizeof facts;
    if (solver_) (void)espalier_solver_read_statistics(solver_.get(), &facts);
    return facts;
  }

 protected:
  using Dense = Eigen::Matrix<Scalar, Eigen::Dynamic, Eigen::Dynamic>;

  /// A^T for 1, A^H of a complex matrix for 2.
  template <class Rhs, class Dest>
  void solveInto(std::int32_t transposed, const Rhs& b, Dest& x) const {
    eigen_assert(isFactored_ && "factorize() comes first and must succeed");
    eigen_assert(b.rows() == order_ && "right-hand sides have as many rows");
    Dense vectors = b.template cast<Scalar>();
    note(espalier_solver_solve_block(solver_.get(), transposed,
                                     static_cast<std::int32_t>(vectors.cols()),
                                     doubles(vectors.data()), vectors.rows(),
                                     doubles(vectors.data()), vectors.rows()));
    x.derived() = vectors;
  }

 private:
  struct Destroy {
    void operator()(espalier_solver* solver) const { espalier_solver_destroy(solver); }
  };

  // Complex numbers are two doubles each.
  static double* doubles(Scalar* numbers) { return reinterpret_cast<double*>(numbers); }
  static const double* doubles(const Scalar* numbers) {
    return reinterpret_cast<const double*>(numbers);
  }

  // The solver reads as many offsets as there were rows.
  bool fits(const MatrixType& matrix) {
    if (matrix.rows() == order_ && matrix.cols() == order_) return true;
    info_ = Eigen::InvalidInput;
    error_ = "a matrix of " + std::to_string(matrix.rows()) + " rows and " +
             std::to_string(matrix.cols()) + " columns, not of order " +
             std::to_string(order_) + " as it was analysed";
    return false;
  }

  // What the solver is given of a matrix: where it is, or a copy.
  static const MatrixType& relevant(const MatrixType& matrix, MatrixType& copy) {
    if constexpr (Traits::kUpLo != 0) {
      copy = matrix.template triangularView<Traits::kUpLo>();
    } else {
      if (matrix.isCompressed()) return matrix;
      copy = matrix;
    }
    copy.makeCompressed();
    return copy;
  }

  // Of the places of all entries: two patterns as good as never have the same one.
  static std::uint64_t fingerprint(const MatrixType& matrix) {
    std::uint64_t sum = 0;
    const auto add = [&sum](const StorageIndex* numbers, Eigen::Index count) {
      for (Eigen::Index k = 0; k < count; ++k) {
        sum = (sum ^ static_cast<std::uint64_t>(numbers[k])) * 0x9e3779b97f4a7c15u;
        sum ^= sum >> 32;
      }
    };
    add(matrix.outerIndexPtr(), matrix.outerSize() + 1);
    add(matrix.innerIndexPtr(), matrix.nonZeros());
    return sum;
  }

  int analyse(const MatrixType& matrix) {
    espalier_solver_input input = ESPALIER_SOLVER_INPUT_INIT;
    input.order = matrix.rows();
    input.scalar = kComplex ? ESPALIER_SOLVER_COMPLEX : ESPALIER_SOLVER_REAL;
    input.symmetry = ESPALIER_SOLVER_GENERAL;
    if (Traits::kUpLo != 0) input.symmetry = ESPALIER_SOLVER_SYMMETRIC;
    if (Traits::kUpLo != 0 && kComplex) input.symmetry = ESPALIER_SOLVER_HERMITIAN;
    input.index_bits = 8 * sizeof(StorageIndex);
    eigen::fill(input, matrix.outerIndexPtr(), matrix.innerIndexPtr(),
                MatrixType::IsRowMajor);
    input.values = doubles(matrix.valuePtr());
    options_.kind = Traits::kKind;
    espalier_solver* solver = nullptr;
    int status = espalier_solver_analyse(&solver, &input, &options_);
    if (status != 0) return status;
    solver_.reset(solver);
    fingerprint_ = fingerprint(matrix);
    status = plan();
    if (status == 0) return espalier_solver_factorise(solver);
    solver_.reset();  // the next factorize() analyses and plans again
    return status;
  }

  int plan() const {
    std::int64_t bound = 0;
    const int status = espalier_solver_parse_memory(bound_.c_str(), &bound);
    return status == 0 ? espalier_solver_plan(solver_.get(), bound) : status;
  }

  void note(int status) const {
    info_ = status == 0         ? Eigen::Success
            : status == -EINVAL ? Eigen::InvalidInput
                                : Eigen::NumericalIssue;
    error_ = status == 0 ? "" : espalier_solver_last_error();
  }

  espalier_solver_options options_ = ESPALIER_SOLVER_OPTIONS_INIT;
  std::string bound_ = "none";
  std::unique_ptr<espalier_solver, Destroy> solver_;
  std::uint64_t fingerprint_ = 0;  // of the pattern that was analysed
  Eigen::Index order_ = 0;
  bool isFactored_ = false;
  mutable Eigen::ComputationInfo info_ = Eigen::InvalidInput;
  mutable std::string error_;
};

/// L L^T of a symmetric or Hermitian positive definite matrix, of which one triangle is
/// read.
template <class Matrix, int UpLo = Eigen::Lower>
class EspalierLLT : public EspalierBase<EspalierLLT<Matrix, UpLo>> {
 public:
  EspalierLLT() = default;
  explicit EspalierLLT(const Matrix& matrix) { this->compute(matrix); }
};

/// L D L^T of a symmetric or Hermitian matrix, of which one triangle is read.
template <class Matrix, int UpLo = Eigen::Lower>
class EspalierLDLT : public EspalierBase<EspalierLDLT<Matrix, UpLo>> {
 public:
  EspalierLDLT() = default;
  explicit EspalierLDLT(const Matrix& matrix) { this->compute(matrix); }
  [[nodiscard]] Eigen::Index negativeEigenvalues() const {
    return this->statistics().negative_pivots;
  }
};

/// L U of any square matrix.
template <class Matrix>
class EspalierLU : public EspalierBase<EspalierLU<Matrix>> {
 public:
  EspalierLU() = default;
  explicit EspalierLU(const Matrix& matrix) { this->compute(matrix); }
  /// The modulus of determinant().
  [[nodiscard]] typename Matrix::RealScalar absDeterminant() const {
    return std::abs(this->determinant());
  }
  /// x of A^T x = b, for dense b.
  template <class Rhs>
  [[nodiscard]] auto solveTransposed(const Eigen::MatrixBase<Rhs>& b) const {
    typename EspalierBase<EspalierLU>::Dense x;
    this->solveInto(1, b, x);
    return x;
  }
  /// x of A^H x = b, likewise.
  template <class Rhs>
  [[nodiscard]] auto solveAdjoint(const Eigen::MatrixBase<Rhs>& b) const {
    typename EspalierBase<EspalierLU>::Dense x;
    this->solveInto(this->kComplex ? 2 : 1, b, x);
    return x;
  }
};

namespace eigen {

template <class Matrix, int UpLo>
struct Traits<EspalierLLT<Matrix, UpLo>> {
  using MatrixType = Matrix;
  static constexpr int kUpLo = UpLo, kKind = ESPALIER_SOLVER_KIND_CHOLESKY;
};
template <class Matrix, int UpLo>
struct Traits<EspalierLDLT<Matrix, UpLo>> {
  using MatrixType = Matrix;
  static constexpr int kUpLo = UpLo, kKind = ESPALIER_SOLVER_KIND_LDLT;
};
template <class Matrix>
struct Traits<EspalierLU<Matrix>> {
  using MatrixType = Matrix;
  static constexpr int kUpLo = 0, kKind = ESPALIER_SOLVER_KIND_LU;
};

}  // namespace eigen
}  // namespace espalier
