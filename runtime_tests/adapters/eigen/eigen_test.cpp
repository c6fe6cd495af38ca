#include "eigen/eigen.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <Eigen/SparseCholesky>
#include <Eigen/SparseLU>
#include <complex>
#include <random>

namespace espalier {
namespace TEST_SOURCE {

template <int Order, class Index>
using Sparse = Eigen::SparseMatrix<double, Order, Index>;

/// Random, with a diagonal that makes it definite, or indefinite where signs alternate.
template <class Matrix>
Matrix random_matrix(int n, unsigned seed, bool symmetric, bool alternating = false) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> value(-1, 1);
  std::vector<Eigen::Triplet<double, typename Matrix::StorageIndex>> entries;
  for (int i = 0; i < n; ++i) {
    entries.emplace_back(i, i,
                         (alternating && i % 3 == 0 ? -1 : 1) * (8 + value(random)));
    for (int k = 0; k < 3; ++k) {
      const int j = static_cast<int>(random() % n);
      const double each = value(random);
      entries.emplace_back(i, j, each);
      if (symmetric) entries.emplace_back(j, i, each);
    }
  }
  Matrix result(n, n);
  result.setFromTriplets(entries.begin(), entries.end());
  return result;
}

// What Eigen asks of its own direct solvers: vectors, many, sparse ones, expressions and
// blocks; the phases by themselves; other values.
template <class Solver, class Matrix>
void check(Solver& solver, Matrix matrix) {
  const Eigen::Index n = matrix.rows();
  solver.compute(matrix);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_EQ(solver.rows(), n);
  const Eigen::MatrixXd known = Eigen::MatrixXd::Random(n, 3), b = matrix * known;
  EXPECT_LT((solver.solve(b) - known).norm(), 1e-11);
  const Eigen::VectorXd first = solver.solve(b.col(0));
  EXPECT_LT((first - known.col(0)).norm(), 1e-11);
  const Eigen::VectorXd sum = solver.solve(b.col(0) + 2 * b.col(1)) + first;
  EXPECT_LT((sum - 2 * known.col(0) - 2 * known.col(1)).norm(), 1e-11);
  Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor> rows = b;
  EXPECT_LT((solver.solve(rows) - known).norm(), 1e-11);
  rows = solver.solve(rows);  // aliased
  EXPECT_LT((rows - known).norm(), 1e-11);
  const Eigen::SparseMatrix<double> sparse = b.sparseView();
  const Eigen::SparseMatrix<double> x = solver.solve(sparse);
  EXPECT_LT((Eigen::MatrixXd(x) - known).norm(), 1e-11);

  const double analysed = solver.statistics().analyse_seconds;
  matrix *= 2;
  solver.factorize(matrix);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_EQ(solver.statistics().analyse_seconds, analysed);
  EXPECT_LT((2 * solver.solve(b) - known).norm(), 1e-11);
  matrix.reserve(Eigen::VectorXi::Constant(n, 12));  // not compressed any more
  solver.analyzePattern(matrix);
  solver.factorize(matrix);
  EXPECT_LT((2 * solver.solve(b) - known).norm(), 1e-11);
}

template <class Matrix>
class EigenSolvers : public testing::Test {};
using Matrices =
    testing::Types<Sparse<Eigen::ColMajor, int>, Sparse<Eigen::RowMajor, int>,
                   Sparse<Eigen::ColMajor, std::int64_t>>;
TYPED_TEST_SUITE(EigenSolvers, Matrices);

TYPED_TEST(EigenSolvers, SolveAsEigensOwn) {
  for (unsigned seed = 0; seed < 3; ++seed) {
    SCOPED_TRACE(seed);
    EspalierLLT<TypeParam> cholesky;
    check(cholesky, random_matrix<TypeParam>(60, seed, true));
    EspalierLDLT<TypeParam> symmetric;
    check(symmetric, random_matrix<TypeParam>(60, seed, true, true));
    EXPECT_EQ(symmetric.negativeEigenvalues(), 20);
    EspalierLU<TypeParam> general;
    check(general, random_matrix<TypeParam>(60, seed, false));
  }
}

// Maps, expressions and vectors of every storage stand for what they are of.
template <class Solver, class Matrix>
void check_what_may_be_given(const Matrix& matrix) {
  const Eigen::Index n = matrix.rows();
  const Eigen::VectorXd known = Eigen::VectorXd::Random(n), b = matrix * known;
  Solver constructed(0.5 * (matrix + matrix));
  ASSERT_EQ(constructed.info(), Eigen::Success);
  EXPECT_LT((constructed.solve(b) - known).norm(), 1e-11);
  Solver mapped;
  mapped.compute(Eigen::Map<const Matrix>(n, n, matrix.nonZeros(), matrix.outerIndexPtr(),
                                          matrix.innerIndexPtr(), matrix.valuePtr()));
  ASSERT_EQ(mapped.info(), Eigen::Success);
  Eigen::VectorXd wide = Eigen::VectorXd::Zero(2 * n);
  Eigen::Map<Eigen::VectorXd, 0, Eigen::InnerStride<2>> every(wide.data(), n);
  every = mapped.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), n));
  EXPECT_LT((every - known).norm(), 1e-11);
  const Eigen::SparseVector<double> sparse = b.sparseView();
  const Eigen::SparseVector<double> x = mapped.solve(sparse);
  EXPECT_LT((Eigen::VectorXd(x) - known).norm(), 1e-11);
  EXPECT_EQ(mapped.solve(Eigen::VectorXd::Zero(n)).eval(), Eigen::VectorXd::Zero(n));
}

TYPED_TEST(EigenSolvers, TakeWhatStandsForAMatrix) {
  const auto symmetric = random_matrix<TypeParam>(60, 5, true);
  check_what_may_be_given<EspalierLLT<TypeParam>>(symmetric);
  check_what_may_be_given<EspalierLDLT<TypeParam, Eigen::Upper>>(symmetric);
  check_what_may_be_given<EspalierLU<TypeParam>>(random_matrix<TypeParam>(60, 6, false));
}

TYPED_TEST(EigenSolvers, HaveDeterminants) {
  const auto symmetric = random_matrix<TypeParam>(9, 7, true, true);
  const auto general = random_matrix<TypeParam>(9, 8, false, true);
  const double one = Eigen::MatrixXd(symmetric).determinant();
  const double other = Eigen::MatrixXd(general).determinant();
  EXPECT_NEAR(EspalierLDLT<TypeParam>(symmetric).determinant() / one, 1, 1e-11);
  EXPECT_NEAR(EspalierLU<TypeParam>(general).determinant() / other, 1, 1e-11);
  EXPECT_NEAR(EspalierLU<TypeParam>(general).absDeterminant() / std::abs(other), 1,
              1e-11);
}

TYPED_TEST(EigenSolvers, TellOfAColumnWithoutEntries) {
  auto matrix = random_matrix<TypeParam>(30, 9, false);
  matrix.prune([](auto, auto column, double) { return column != 4; });
  EspalierLU<TypeParam> solver;
  solver.compute(matrix);
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue);
  solver.compute(random_matrix<TypeParam>(30, 9, false));
  EXPECT_EQ(solver.info(), Eigen::Success);
  EXPECT_EQ(solver.lastErrorMessage(), "");
}

TYPED_TEST(EigenSolvers, ReadTheTriangleThatIsAskedFor) {
  const TypeParam matrix = random_matrix<TypeParam>(40, 1, true);
  const Eigen::VectorXd b = Eigen::VectorXd::Random(40);
  const Eigen::VectorXd wanted = Eigen::MatrixXd(matrix).llt().solve(b);
  const TypeParam lower = matrix.template triangularView<Eigen::Lower>(),
                  upper = matrix.template triangularView<Eigen::Upper>();
  EXPECT_LT((EspalierLLT<TypeParam>(lower).solve(b) - wanted).norm(), 1e-12);
  EXPECT_LT((EspalierLLT<TypeParam, Eigen::Upper>(upper).solve(b) - wanted).norm(),
            1e-12);
  EXPECT_LT((EspalierLDLT<TypeParam, Eigen::Upper>(upper).solve(b) - wanted).norm(),
            1e-12);
}

TYPED_TEST(EigenSolvers, SolveTransposedSystems) {
  const TypeParam matrix = random_matrix<TypeParam>(50, 2, false);
  const Eigen::VectorXd known = Eigen::VectorXd::Random(50);
  const EspalierLU<TypeParam> solver(matrix);
  EXPECT_LT((solver.solveTransposed(matrix.transpose() * known) - known).norm(), 1e-12);
}

using Columns = Eigen::SparseMatrix<double>;

TEST(EigenErrors, AreTold) {
  Columns singular(3, 3);
  singular.insert(0, 0) = 1;
  singular.insert(1, 1) = 1;
  const EspalierLU<Columns> lu(singular);
  EXPECT_EQ(lu.info(), Eigen::NumericalIssue);
  EXPECT_NE(lu.lastErrorMessage().find("singular"), std::string::npos);
  Columns negative(1, 1);
  negative.insert(0, 0) = -1;
  const EspalierLLT<Columns> llt(negative);
  EXPECT_EQ(llt.info(), Eigen::NumericalIssue);
  EXPECT_NE(llt.lastErrorMessage().find("not positive definite"), std::string::npos);
  Columns not_a_number(1, 1);
  not_a_number.insert(0, 0) = std::nan("");
  EXPECT_EQ(EspalierLU<Columns>(not_a_number).info(), Eigen::InvalidInput);
}

// Offsets and entries are not read that are not there.
TEST(EigenErrors, AreMatricesThatAreNotSquareOrOfAnotherOrder) {
  for (const Columns& given : {Columns(9, 4), Columns(4, 9)}) {
    EspalierLU<Columns> solver;
    solver.compute(given);
    EXPECT_EQ(solver.info(), Eigen::InvalidInput);
    EXPECT_NE(solver.lastErrorMessage().find("9 rows and 4 columns") == std::string::npos,
              given.rows() == 9);
  }
  Columns two(2, 2), three(3, 3);
  two.setIdentity();
  three.insert(0, 0) = three.insert(2, 2) = 1;  // as many entries
  EspalierLU<Columns> solver(two);
  ASSERT_EQ(solver.info(), Eigen::Success);
  solver.factorize(three);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("not of order 2"), std::string::npos);
  solver.factorize(2 * two);
  ASSERT_EQ(solver.info(), Eigen::Success);
  EXPECT_EQ(solver.solve(Eigen::Vector2d(2, 4)).eval(), Eigen::Vector2d(1, 2));
}

// Of as many entries: the values alone do not tell.
TEST(EigenErrors, AreMatricesOfAnotherPattern) {
  Columns lower(3, 3), upper(3, 3);
  lower.setIdentity();
  upper.setIdentity();
  lower.coeffRef(2, 0) = 5;
  upper.coeffRef(0, 2) = 5;
  EspalierLU<Columns> solver(lower);
  ASSERT_EQ(solver.info(), Eigen::Success);
  solver.factorize(upper);
  EXPECT_EQ(solver.info(), Eigen::InvalidInput);
  EXPECT_NE(solver.lastErrorMessage().find("another pattern"), std::string::npos);
  solver.factorize(2 * lower);
  ASSERT_EQ(solver.info(), Eigen::Success);
  EXPECT_EQ(solver.lastErrorMessage(), "");
  EXPECT_EQ(solver.solve(Eigen::Vector3d(2, 4, 12)).eval(), Eigen::Vector3d(1, 2, 1));
  solver.compute(upper);
  EXPECT_EQ(solver.solve(Eigen::Vector3d(6, 2, 1)).eval(), Eigen::Vector3d(1, 2, 1));
  // What is not read may be anything.
  EspalierLDLT<Columns> half(lower);
  half.factorize(Columns(lower + upper));
  EXPECT_EQ(half.info(), Eigen::Success) << half.lastErrorMessage();
}

TYPED_TEST(EigenSolvers, SolveOrderZeroAndOne) {
  TypeParam none(0, 0), one(1, 1);
  EspalierLDLT<TypeParam> solver(none);
  EXPECT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  EXPECT_EQ(solver.solve(Eigen::VectorXd(0)).rows(), 0);
  one.insert(0, 0) = -4;
  solver.compute(one);
  EXPECT_EQ(solver.solve(Eigen::VectorXd::Constant(1, 8.0))(0), -2);
  EXPECT_EQ(solver.negativeEigenvalues(), 1);
}

TEST(EigenErrors, OfABoundSayWhatSuffices) {
  EspalierLLT<Columns> solver;
  solver.setMemory("1KiB").compute(random_matrix<Columns>(60, 1, true));
  EXPECT_EQ(solver.info(), Eigen::NumericalIssue);
  EXPECT_NE(solver.lastErrorMessage().find("suffices"), std::string::npos);
  solver.factorize(random_matrix<Columns>(60, 1, true));
  EXPECT_NE(solver.lastErrorMessage().find("suffices"), std::string::npos);
  solver.setMemory("none").factorize(random_matrix<Columns>(60, 1, true));
  EXPECT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  solver.setMemory("min").compute(random_matrix<Columns>(60, 1, true));
  EXPECT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
}

using ComplexSparse = Eigen::SparseMatrix<std::complex<double>>;

ComplexSparse random_complex(int n, bool hermitian, bool alternating = false) {
  const ComplexSparse real =
      random_matrix<Sparse<Eigen::ColMajor, int>>(n, 1, hermitian, alternating)
          .cast<std::complex<double>>();
  const ComplexSparse other = random_matrix<Sparse<Eigen::ColMajor, int>>(n, 2, false)
                                  .cast<std::complex<double>>();
  const std::complex<double> i(0, 0.5);
  if (!hermitian) return real + i * other;
  return real + i * (other - ComplexSparse(other.transpose()));
}

template <class Solver>
void check_complex(Solver& solver, const ComplexSparse& a) {
  solver.compute(a);
  ASSERT_EQ(solver.info(), Eigen::Success) << solver.lastErrorMessage();
  const Eigen::MatrixXcd known = Eigen::MatrixXcd::Random(a.rows(), 3), b = a * known;
  EXPECT_LT((solver.solve(b) - known).norm(), 1e-11);
  solver.factorize(2.0 * a);
  EXPECT_LT((2.0 * solver.solve(b) - known).norm(), 1e-11);
}

TEST(EigenSolvers, SolveComplexMatrices) {
  EspalierLLT<ComplexSparse> lower;
  check_complex(lower, random_complex(50, true));
  EspalierLLT<ComplexSparse, Eigen::Upper> upper;
  check_complex(upper, random_complex(50, true));
  EspalierLDLT<ComplexSparse> indefinite;
  check_complex(indefinite, random_complex(60, true, true));
  EXPECT_EQ(indefinite.negativeEigenvalues(), 20);
  EspalierLU<ComplexSparse> general;
  const ComplexSparse a = random_complex(50, false);
  check_complex(general, a);
  general.compute(a);
  const Eigen::MatrixXcd known = Eigen::MatrixXcd::Random(50, 2);
  EXPECT_LT((general.solveTransposed(a.transpose() * known) - known).norm(), 1e-11);
  EXPECT_LT((general.solveAdjoint(a.adjoint() * known) - known).norm(), 1e-11);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
