// espalier solve with complex matrices.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

const std::string kMatrix = "%%MatrixMarket matrix coordinate complex ";
const std::string kVectors = "%%MatrixMarket matrix array ";

// [2 1+i; 1-i -3]: its determinant is -8, one eigenvalue is negative.
const std::string kHermitian =
    kMatrix + "hermitian\n2 2 3\n1 1 2 0\n2 1 1 -1\n2 2 -3 0\n";
// [2 1+i; 1+i -3 i].
const std::string kSymmetric = kMatrix + "symmetric\n2 2 3\n1 1 2 0\n2 1 1 1\n2 2 0 -3\n";
// [2 1; 0 i].
const std::string kGeneral = kMatrix + "general\n2 2 3\n1 1 2 0\n1 2 1 0\n2 2 0 1\n";

void expect_values(const std::string& text, const std::vector<double>& expected) {
  std::istringstream in(text);
  std::string banner;
  std::getline(in, banner);
  EXPECT_EQ(banner, kVectors + "complex general");
  int rows = 0, columns = 0;
  in >> rows >> columns;
  ASSERT_EQ(std::size_t(rows * columns * 2), expected.size());
  for (const double each : expected) {
    double value = NAN;
    in >> value;
    EXPECT_NEAR(value, each, 1e-14);
  }
}

TEST(SolveComplex, SolvesEverySymmetryAndOperation) {
  // Right-hand sides of x = (1, i).
  const TemporaryFile rhs(kVectors + "complex general\n2 1\n1 1\n1 -4\n");  // hermitian
  const TemporaryFile out("");
  const TemporaryFile hermitian(kHermitian);
  json report = object(solve(
      {hermitian.path(), "--rhs", rhs.path(), "--out", out.path(), "--determinant"}));
  EXPECT_EQ(report["scalar"], "complex");
  EXPECT_EQ(report["symmetry"], "hermitian");
  EXPECT_EQ(report["size"], 2);
  EXPECT_EQ(report["entries"], 3);
  EXPECT_EQ(report["negative_eigenvalues"], 1);
  EXPECT_EQ(report["positive_eigenvalues"], 1);
  EXPECT_NEAR(report["determinant_log"], std::log(8), 1e-14);
  EXPECT_NEAR(report["determinant_argument"], std::acos(-1.0), 1e-15);
  expect_values(out.text(), {1, 0, 0, 1});

  const TemporaryFile general(kGeneral);
  const TemporaryFile plain(kVectors + "complex general\n2 1\n2 1\n-1 0\n");
  expect_solved(solve({general.path(), "--rhs", plain.path(), "--out", out.path()}));
  expect_values(out.text(), {1, 0, 0, 1});
  const TemporaryFile transposed(kVectors + "complex general\n2 1\n2 0\n0 0\n");
  expect_solved(solve(
      {general.path(), "--transposed", "--rhs", transposed.path(), "--out", out.path()}));
  expect_values(out.text(), {1, 0, 0, 1});
  const TemporaryFile adjoint(kVectors + "complex general\n2 1\n2 0\n2 0\n");
  expect_solved(solve({general.path(), "--conjugate-transposed", "--rhs", adjoint.path(),
                       "--out", out.path()}));
  expect_values(out.text(), {1, 0, 0, 1});

  const TemporaryFile symmetric(kSymmetric);
  report = object(solve({symmetric.path()}));
  EXPECT_EQ(report["symmetry"], "symmetric");
  EXPECT_LE(report["forward_error"], 1e-15);
  EXPECT_FALSE(report.contains("negative_eigenvalues"));
}

TEST(SolveComplex, SavesWhatItIsAndTakesRealRightHandSides) {
  const TemporaryFile matrix(kHermitian), factor(""), out("");
  const TemporaryFile real(kVectors + "real general\n2 1\n2\n1\n");
  expect_solved(solve({matrix.path(), "--save", factor.path()}));
  const json report = object(run({"solve", "--json", "--factor", factor.path(), "--rhs",
                                  real.path(), "--out", out.path()}));
  EXPECT_EQ(report["scalar"], "complex");
  EXPECT_EQ(report["size"], 2);
  // Cramer: x = -(−6 - 1 - i) / 8, y = -(2 - 2 + 2 i) / 8.
  expect_values(out.text(), {7.0 / 8, 1.0 / 8, 0, -1.0 / 4});
}

TEST(SolveComplex, KeepsBoundsOnAHelmholtzGrid) {
  const TemporaryDirectory directory;
  for (const std::vector<std::string>& more : {std::vector<std::string>{},
                                               {"--out-of-core", directory.path()},
                                               {"--precision", "single"},
                                               {"--kind", "general"}}) {
    std::vector<std::string> arguments = {"--grid",   "40x40",    "--shift",
                                          "-0.5,0.2", "--memory", "min"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const Outcome outcome = solve(arguments);
    expect_solved(outcome);
    const json report = object(outcome);
    EXPECT_EQ(report["bound_kept"], true);
    EXPECT_LE(report["forward_error"], 1e-10);
  }
}

TEST(SolveComplex, WritesSchurComplementsAndNullSpaces) {
  const TemporaryFile matrix(kHermitian), kept("2\n"), out("");
  EXPECT_EQ(solve({matrix.path(), "--schur", kept.path(), "--out", out.path()}).status,
            0);
  expect_values(out.text(), {-4, 0});  // -3 - |1 + i|^2 / 2
  const TemporaryFile singular(kMatrix + "hermitian\n2 2 3\n1 1 1 0\n2 1 0 1\n2 2 1 0\n");
  const TemporaryDirectory directory;
  const std::string basis = directory.path() + "/basis.mtx";
  const Outcome outcome = solve({singular.path(), "--null-space", basis});
  EXPECT_EQ(outcome.status, 1);
  expect_says(outcome, "null space of dimension 1");
  EXPECT_EQ(directory.names().size(), 1u);
}

TEST(SolveComplex, RefusesByName) {
  const TemporaryFile symmetric(kSymmetric), hermitian(kHermitian);
  expect_refused({symmetric.path(), "--kind", "spd"},
                 {symmetric.path(), "--kind spd", "complex symmetric"});
  expect_refused({hermitian.path(), "--shift", "1,2"}, {"--shift", "--grid"});
  expect_refused({"--grid", "4", "--shift", "1,x"}, {"--shift", "1,x"});
  expect_refused({"--grid", "4", "--shift", "1,2,3"}, {"--shift", "1,2,3"});
  const TemporaryFile bad(kMatrix + "hermitian\n1 1 1\n1 1 2 3\n");
  expect_refused({bad.path()}, {bad.path(), ":3: ", "diagonal"});
  const Outcome outcome = solve({hermitian.path(), "--kind", "spd"});
  EXPECT_EQ(outcome.status, 1);
  expect_says(outcome, "column 2");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
