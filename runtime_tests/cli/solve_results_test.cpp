// espalier solve --determinant, --schur and --null-space.

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// [ 2 1 . ]
// [ 4 1 3 ]   det = 2 (5 - 3) - 1 * 20 = -16
// [ . 1 5 ]
Entries three() {
  Entries matrix{3, {}};
  matrix.add(0, 0, 2), matrix.add(0, 1, 1);
  matrix.add(1, 0, 4), matrix.add(1, 1, 1), matrix.add(1, 2, 3);
  matrix.add(2, 1, 1), matrix.add(2, 2, 5);
  return matrix;
}

TEST(SolveResults, TellsTheDeterminant) {
  const TemporaryFile matrix(three().text("general"));
  const Outcome outcome = solve({matrix.path(), "--determinant"});
  expect_solved(outcome);
  const json report = object(outcome);
  EXPECT_EQ(report["determinant_sign"], -1);
  EXPECT_NEAR(report["determinant_log"], std::log(16), 1e-12);
  EXPECT_FALSE(object(solve({matrix.path()})).contains("determinant_sign"));
}

TEST(SolveResults, WritesTheSchurComplementInTheOrderOfTheFile) {
  const TemporaryFile matrix(three().text("general"));
  const TemporaryFile variables("% kept\n3\n1\n"), out("");
  const Outcome outcome =
      solve({matrix.path(), "--schur", variables.path(), "--out", out.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  EXPECT_EQ(report["schur_size"], 2);
  EXPECT_EQ(report["right_hand_sides"], 0);
  // Of variable 2: [5 0; 0 2] - [1; 1] / 1 * [3 4], by columns.
  const std::vector<double> found = array_values(out.text()), wanted = {2, -3, -4, -2};
  ASSERT_EQ(found.size(), 4u);
  for (std::size_t k = 0; k < 4; ++k) EXPECT_NEAR(found[k], wanted[k], 1e-14);
}

TEST(SolveResults, SaysWhereThereIsNoSchurComplement) {
  const TemporaryFile matrix(matrix_text(2, {"2 1 1", "1 1 3"}));
  const TemporaryFile variables("1"), out("");
  const Outcome outcome =
      solve({matrix.path(), "--schur", variables.path(), "--out", out.path()});
  EXPECT_EQ(outcome.status, 1);
  expect_says(outcome, "there is no Schur complement");
  EXPECT_EQ(out.text(), "");
}

TEST(SolveResults, RefusesWhatIsNoListOfVariables) {
  const TemporaryFile matrix(three().text("general"));
  for (const auto& [text, words] :
       {std::pair<const char*, const char*>{"1\n4\n", ":2: '4' is not a variable"},
        {"1 x", ":1: 'x' is not a variable"},
        {"0", ":1: '0' is not"},
        {"% 1", "names no variables"},
        {"2, 2", ":1: '2' is there twice"}}) {
    const TemporaryFile variables(text), out("");
    expect_refused({matrix.path(), "--schur", variables.path(), "--out", out.path()},
                   {words});
  }
}

// The block that is written is in the account, as the factor is.
TEST(SolveResults, KeepTheBoundWithALargeSchurComplement) {
  std::string numbers;
  for (int k = 1; k <= 1500; ++k) numbers += std::to_string(k) + "\n";
  const TemporaryFile variables(numbers), out("");
  const Outcome outcome = solve({"--grid", "16x16x16", "--schur", variables.path(),
                                 "--out", out.path(), "--memory", "min"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  EXPECT_LE(report["peak_rss_bytes"], report["bound_bytes"]);
}

// Nobody knows how many null vectors there are before the factorisation.
TEST(SolveResults, KeepTheBoundWithALargeNullSpace) {
  constexpr int kOrder = 1600, kZeros = 400;
  Entries diagonal{kOrder, {}};
  for (int k = kZeros; k < kOrder; ++k) diagonal.add(k, k, 1 + k % 3);
  const TemporaryFile matrix(diagonal.text("general")), out("of another run");
  const auto within = [&](const char* bound) {
    return solve({matrix.path(), "--kind", "general", "--null-space", out.path(),
                  "--memory", bound});
  };
  const Outcome least = within("min");
  EXPECT_EQ(least.status, 1);
  expect_says(least, "400 vectors miss");
  EXPECT_EQ(out.text(), "of another run");
  EXPECT_LE(object(least)["peak_rss_bytes"], object(least)["bound_bytes"]);
  const Outcome ample = within("128MiB");
  EXPECT_EQ(ample.status, 1);
  EXPECT_EQ(object(ample)["null_space"], kZeros);
  EXPECT_EQ(array_values(out.text()).size(), std::size_t{kOrder} * kZeros);
  EXPECT_LE(object(ample)["peak_rss_bytes"], object(ample)["bound_bytes"]);
}

TEST(SolveResults, WritesABasisOfTheNullSpace) {
  // The Laplacian of two paths of three points.
  Entries paths{6, {}};
  for (const int first : {0, 3}) {
    for (const int k : {0, 1, 2}) paths.add(first + k, first + k, k == 1 ? 2 : 1);
    paths.add(first + 1, first, -1), paths.add(first + 2, first + 1, -1);
  }
  const TemporaryFile matrix(paths.text("symmetric")), out("");
  const Outcome outcome =
      solve({matrix.path(), "--null-space", out.path(), "--determinant"});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(object(outcome)["null_space"], 2);
  EXPECT_EQ(object(outcome)["determinant_sign"], 0);
  const std::vector<double> basis = array_values(out.text());
  ASSERT_EQ(basis.size(), 12u);
  for (std::size_t k = 0; k < 12; ++k) EXPECT_NEAR(basis[k], basis[k / 3 * 3], 1e-12);
}

TEST(SolveResults, SaysWhereThereIsNoNullSpace) {
  Entries diagonal{3, {}};
  for (const int k : {0, 1, 2}) diagonal.add(k, k, k + 1);
  const TemporaryFile matrix(diagonal.text("symmetric")), out("of another run");
  const Outcome outcome = solve({matrix.path(), "--null-space", out.path()});
  EXPECT_EQ(outcome.status, 0);
  expect_says(outcome, "no null vectors");
  EXPECT_EQ(out.text(), "of another run");
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
