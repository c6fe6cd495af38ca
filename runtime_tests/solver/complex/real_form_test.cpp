#include "solver/complex/real_form.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "espalier/model/error.h"
#include "solver/complex/complex_systems.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Complex kI(0, 1);

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    static_cast<void>(call());
  } catch (const InvalidInput& error) {
    return error.what();
  }
  return "no refusal";
}

// The real matrix times a vector of parts.
std::vector<double> product(const InputMatrix& matrix, const std::vector<double>& x) {
  std::vector<double> y(x.size());
  const bool symmetric = std::holds_alternative<SymmetricMatrix>(matrix);
  std::visit(
      [&](const auto& a) {
        for (std::int32_t j = 0; j < a.size; ++j)
          for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
            y[a.row[k]] += a.value[k] * x[j];
            if (symmetric && a.row[k] != j) y[j] += a.value[k] * x[a.row[k]];
          }
      },
      matrix);
  return y;
}

RealForm form_of(ComplexSymmetry symmetry) {
  return symmetry == ComplexSymmetry::kGeneral     ? RealForm::kGeneral
         : symmetry == ComplexSymmetry::kHermitian ? RealForm::kHermitian
                                                   : RealForm::kSymmetric;
}

TEST(RealForm, OfOneEntryIsABlockOfOrderTwo) {
  const ComplexMatrix one =
      made_of(ComplexSymmetry::kGeneral, 1, {{{0, 0}, 3.0 + 4.0 * kI}});
  const auto general = std::get<GeneralMatrix>(real_form(one, RealForm::kGeneral));
  EXPECT_EQ(general.column_start, (std::vector<std::int64_t>{0, 2, 4}));
  EXPECT_EQ(general.value, (std::vector<double>{3, 4, -4, 3}));
  ComplexMatrix symmetric = one;
  symmetric.symmetry = ComplexSymmetry::kSymmetric;
  const auto lower =
      std::get<SymmetricMatrix>(real_form(symmetric, RealForm::kSymmetric));
  EXPECT_EQ(lower.column_start, (std::vector<std::int64_t>{0, 2, 3}));
  EXPECT_EQ(lower.value, (std::vector<double>{3, -4, -3}));
}

TEST(RealForm, TimesThePartsOfAVectorIsThePartsOfTheProduct) {
  std::mt19937 random(1);
  for (const ComplexSymmetry symmetry :
       {ComplexSymmetry::kGeneral, ComplexSymmetry::kSymmetric,
        ComplexSymmetry::kHermitian})
    for (int instance = 0; instance < 50; ++instance) {
      const ComplexMatrix a = random_complex(random, symmetry, drawn(random, 1, 12), 2);
      std::vector<Complex> x = drawn_vector(random, static_cast<std::size_t>(a.size));
      std::vector<Complex> y(x.size());
      ComplexErrorMeasure(a).multiply(ComplexOperation::kPlain, x, y);
      if (symmetry == ComplexSymmetry::kSymmetric)
        for (Complex& value : y) value = std::conj(value);
      const auto parts = parts_of(x), expected = parts_of(y);
      const std::vector<double> real =
          product(real_form(a, form_of(symmetry)), {parts.begin(), parts.end()});
      for (std::size_t k = 0; k < real.size(); ++k)
        ASSERT_NEAR(real[k], expected[k], 1e-12 * (1 + largest(y))) << instance;
    }
}

TEST(ComplexMatrix, SymmetryIsFoundAndUndone) {
  std::mt19937 random(3);
  for (const ComplexSymmetry symmetry :
       {ComplexSymmetry::kSymmetric, ComplexSymmetry::kHermitian})
    for (int instance = 0; instance < 20; ++instance) {
      ComplexMatrix lower = random_complex(random, symmetry, drawn(random, 4, 12), 2);
      lower.value[0] += symmetry == ComplexSymmetry::kSymmetric ? kI : 0;
      const ComplexMatrix whole = general_of(ComplexMatrix(lower));
      EXPECT_EQ(whole.symmetry, ComplexSymmetry::kGeneral);
      const ComplexMatrix found = with_symmetry_found(ComplexMatrix(whole), symmetry);
      EXPECT_EQ(found.symmetry, symmetry);
      EXPECT_EQ(found.row, lower.row);
      EXPECT_EQ(found.value, lower.value);
    }
  const ComplexMatrix general =
      made_of(ComplexSymmetry::kGeneral, 2, {{{0, 1}, 1.0 + kI}, {{1, 0}, 2.0}});
  EXPECT_EQ(with_symmetry_found(ComplexMatrix(general)).symmetry,
            ComplexSymmetry::kGeneral);
}

TEST(ComplexMatrix, ARealSymmetricOneIsBoth) {
  const ComplexMatrix real =
      made_of(ComplexSymmetry::kGeneral, 2, {{{0, 1}, 3.0}, {{1, 0}, 3.0}});
  EXPECT_EQ(with_symmetry_found(ComplexMatrix(real)).symmetry,
            ComplexSymmetry::kHermitian);
  EXPECT_EQ(
      with_symmetry_found(ComplexMatrix(real), ComplexSymmetry::kSymmetric).symmetry,
      ComplexSymmetry::kSymmetric);
}

TEST(ComplexMatrix, SaysWhatCannotBe) {
  const auto refusal = [](const ComplexMatrix& matrix) {
    return refusal_of([&] {
      check(matrix);
      return 0;
    });
  };
  EXPECT_EQ(refusal(made_of(ComplexSymmetry::kHermitian, 2, {{{1, 1}, 2.0 + kI}})),
            "entry (1, 1) is 2 + 1 i: the diagonal of a Hermitian matrix is real");
  EXPECT_EQ(refusal(made_of(ComplexSymmetry::kGeneral, 1, {{{0, 0}, Complex(1, NAN)}})),
            "entry (0, 0) is 1 + nan i: its modulus is not finite");
  EXPECT_EQ(refusal(made_of(ComplexSymmetry::kSymmetric, 2, {{{1, 0}, 1.0}})),
            "entry 0 in column 1: row 0 is not in 1 … 1");
  ComplexMatrix large;
  large.size = kMostComplexOrder + 1;
  EXPECT_NE(refusal(large).find("more than 1073741823"), std::string::npos);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
