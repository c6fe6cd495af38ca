#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "espalier/model/error.h"
#include "solver/io/matrix_market.h"
#include "solver/io/vector_io.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

constexpr Complex kI(0, 1);
const std::string kBanner = "%%MatrixMarket matrix coordinate complex ";

ComplexMatrix read_text(const std::string& text, const std::string& suffix = ".mtx") {
  return std::get<ComplexMatrix>(read_any_matrix(TemporaryFile(text, suffix).path()));
}

void expect_matrix(const ComplexMatrix& matrix, ComplexSymmetry symmetry,
                   const std::vector<std::int64_t>& start,
                   const std::vector<std::int32_t>& row,
                   const std::vector<Complex>& value) {
  EXPECT_EQ(matrix.symmetry, symmetry);
  EXPECT_EQ(matrix.column_start, start);
  EXPECT_EQ(matrix.row, row);
  EXPECT_EQ(matrix.value, value);
}

template <class Call>
std::string refusal_of(const Call& call) {
  try {
    call();
  } catch (const FileError& error) {
    const std::string text = error.what();
    return text.substr(text.find(':') + 1);
  }
  return "no refusal";
}

std::string refusal(const std::string& text, const std::string& suffix = ".mtx") {
  return refusal_of([&] { static_cast<void>(read_text(text, suffix)); });
}

TEST(ReadAnyMatrix, ReadsEachSymmetryOfComplexFiles) {
  expect_matrix(read_text(kBanner + "general\n2 2 3\n1 1 1 2\n2 1 3 -4\n2 2 0 5e0\n"),
                ComplexSymmetry::kGeneral, {0, 2, 3}, {0, 1, 1},
                {1.0 + 2.0 * kI, 3.0 - 4.0 * kI, 5.0 * kI});
  // Either triangle; a Hermitian one is conjugated on the way.
  expect_matrix(read_text(kBanner + "symmetric\n2 2 2\n1 2 3 -4\n2 2 1 1\n"),
                ComplexSymmetry::kSymmetric, {0, 1, 2}, {1, 1},
                {3.0 - 4.0 * kI, 1.0 + kI});
  expect_matrix(read_text(kBanner + "hermitian\n2 2 2\n1 2 3 -4\n2 2 1 0\n"),
                ComplexSymmetry::kHermitian, {0, 1, 2}, {1, 1}, {3.0 + 4.0 * kI, 1.0});
  expect_matrix(read_text(kBanner + "skew-symmetric\n2 2 1\n2 1 3 -4\n"),
                ComplexSymmetry::kGeneral, {0, 1, 2}, {1, 0},
                {3.0 - 4.0 * kI, -3.0 + 4.0 * kI});
}

TEST(ReadAnyMatrix, FindsTheSymmetryOfGeneralFiles) {
  EXPECT_EQ(read_text(kBanner + "general\n2 2 2\n2 1 3 -4\n1 2 3 4\n").symmetry,
            ComplexSymmetry::kHermitian);
  EXPECT_EQ(read_text(kBanner + "general\n2 2 2\n2 1 3 -4\n1 2 3 -4\n").symmetry,
            ComplexSymmetry::kSymmetric);
  EXPECT_EQ(read_text(kBanner + "general\n2 2 2\n2 1 3 -4\n1 2 3 -5\n").symmetry,
            ComplexSymmetry::kGeneral);
  EXPECT_EQ(read_text(kBanner + "general\n1 1 1\n1 1 0 1\n").symmetry,
            ComplexSymmetry::kSymmetric);
}

TEST(ReadAnyMatrix, AddsWhatIsGivenTwice) {
  expect_matrix(read_text(kBanner + "symmetric\n2 2 3\n2 1 3 -4\n1 1 1 1\n2 1 1 0.5\n"),
                ComplexSymmetry::kSymmetric, {0, 2, 2}, {0, 1},
                {1.0 + kI, 4.0 - 3.5 * kI});
}

TEST(ReadAnyMatrix, ReadsRealFilesAsBefore) {
  EXPECT_TRUE(std::holds_alternative<InputMatrix>(read_any_matrix(
      TemporaryFile("%%MatrixMarket matrix coordinate real general\n1 1 1\n1 1 3\n", "")
          .path())));
}

TEST(ReadAnyMatrix, NamesTheLineOfWhatIsWrong) {
  EXPECT_EQ(refusal(kBanner + "general\n1 1 1\n1 1 2\n"),
            "3: imaginary part: the value is missing");
  EXPECT_EQ(refusal(kBanner + "general\n1 1 1\n1 1 2 x\n"),
            "3: imaginary part: malformed value 'x'");
  EXPECT_EQ(refusal(kBanner + "general\n1 1 1\n1 1 inf 1\n"),
            "3: value 'inf' is not finite");
  EXPECT_EQ(refusal(kBanner + "general\n1 1 1\n1 1 2 3 4\n"),
            "3: '4' after the entry's last field");
  EXPECT_EQ(
      refusal(kBanner + "hermitian\n1 1 1\n1 1 2 3\n"),
      "3: entry (1, 1): imaginary part 3, but the diagonal of a hermitian matrix is "
      "real");
  EXPECT_EQ(refusal(kBanner + "hermitian\n2 2 2\n2 1 2 3\n1 2 2 -3\n"),
            "4: entry (1, 2) is in the upper triangle, earlier ones in the other; a "
            "hermitian file gives one of them");
  EXPECT_NE(refusal("%%MatrixMarket matrix coordinate real hermitian\n1 1 0\n")
                .find("'complex', which may be 'hermitian'"),
            std::string::npos);
  EXPECT_EQ(refusal(kBanner + "general\n1100000000 1100000000 1\n"),
            "2: order 1100000000 of a complex matrix: more than 1073741823");
  EXPECT_NE(refusal_of([] {
              static_cast<void>(
                  read_matrix(TemporaryFile(kBanner + "general\n1 1 0\n", "").path()));
            }).find("only real"),
            std::string::npos);
}

// [1 2-i; 2+i 3], its lower triangle by columns.
std::string rutherford_boeing(const std::string& type, const std::string& values) {
  return "a title                                                                 key\n"
         "3 1 1 1\n" +
         type +
         " 2 2 3 0\n(3I3)           (3I3)           (2E12.4)\n  1  3  4\n  1  2  2\n" +
         values;
}

TEST(ReadAnyMatrix, ReadsComplexRutherfordBoeing) {
  const std::string values =
      "  1.0000E+00  0.0000E+00\n  2.0000D+00  1.0000E+00\n  3.0000E+00  0.0000E+00\n";
  expect_matrix(read_text(rutherford_boeing("cha", values), ".cha"),
                ComplexSymmetry::kHermitian, {0, 2, 3}, {0, 1, 1}, {1.0, 2.0 + kI, 3.0});
  expect_matrix(read_text(rutherford_boeing("CSA", values), ".rb"),
                ComplexSymmetry::kSymmetric, {0, 2, 3}, {0, 1, 1}, {1.0, 2.0 + kI, 3.0});
  EXPECT_EQ(read_text(rutherford_boeing("cua", values), ".cua").symmetry,
            ComplexSymmetry::kGeneral);
  EXPECT_NE(refusal(rutherford_boeing("rha", values), ".rb").find("only complex"),
            std::string::npos);
  const std::string wrong =
      "  1.0000E+00  1.0000E+00\n  2.0000E+00  1.0000E+00\n  3.0000E+00  0.0000E+00\n";
  EXPECT_EQ(
      refusal(rutherford_boeing("cha", wrong), ".cha"),
      "7: entry (1, 1): imaginary part 1, but the diagonal of a Hermitian matrix is "
      "real");
  EXPECT_EQ(refusal(rutherford_boeing("cha", "  1.0000E+00\n"), ".cha"),
            "7: field 2 of the line is not a number");
}

TEST(ComplexVectors, AreReadAndWritten) {
  const TemporaryFile file(".mtx");
  const std::vector<Complex> values = {1.0 + 2.0 * kI, -0.1, 1e-300 * kI, 3.0};
  write_complex_vectors(file.path(), values, 2);
  const DenseVectors back = read_complex_vectors(file.path(), 2);
  EXPECT_EQ(back.rows, 4);
  EXPECT_EQ(back.columns, 2);
  EXPECT_EQ(back.values, (std::vector<double>{1, 2, -0.1, 0, 0, 1e-300, 3, 0}));
  EXPECT_EQ(back.rows_with_entries, (std::vector<std::int32_t>{0, 1, 2}));
}

TEST(ComplexVectors, MayBeRealOrSparse) {
  const std::string banner = "%%MatrixMarket matrix ";
  const auto read = [&](const std::string& text) {
    return read_complex_vectors(TemporaryFile(banner + text, "").path(), 2).values;
  };
  EXPECT_EQ(read("array real general\n2 1\n3\n4\n"), (std::vector<double>{3, 0, 4, 0}));
  EXPECT_EQ(read("coordinate complex general\n2 1 2\n2 1 3 4\n2 1 1 1\n"),
            (std::vector<double>{0, 0, 4, 5}));
  const auto refused = [&](const std::string& text) {
    return refusal_of([&] { static_cast<void>(read(text)); });
  };
  EXPECT_EQ(refused("array complex general\n2 1\n3 1\n4\n"),
            "4: imaginary part: the value is missing");
  EXPECT_EQ(refused("array complex general\n2 1\n3 1 1\n4 1\n"),
            "3: expected two values");
  EXPECT_EQ(refused("coordinate complex general\n2 1 2\n2 1 3 1e308\n2 1 1 1e308\n"),
            "4: the sum of the values at (2, 1) is outside the range of a double");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
