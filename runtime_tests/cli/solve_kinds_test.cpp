// espalier solve on every kind of matrix, in both precisions.
// The cases of one subject, which share their instances: over 300 lines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// [ A  B^T ]  A of order `n`, positive definite; B of `m` rows and full rank: n positive
// [ B   0  ]  eigenvalues and m negative ones.
Entries saddle_point(int n, int m) {
  Entries matrix{n + m, {}};
  for (int i = 0; i < n; ++i) {
    matrix.add(i, i, 4);
    if (i + 1 < n) matrix.add(i + 1, i, -1.5);
  }
  for (int i = 0; i < m; ++i) {
    matrix.add(n + i, 2 * i, 1);
    matrix.add(n + i, 2 * i + 1, -0.5);
  }
  return matrix;
}

// No entry on the diagonal; a large one in each row, off it.
Entries zero_diagonal(int n, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<double> small(-1, 1);
  Entries matrix{n, {}};
  for (int i = 0; i < n; ++i) {
    matrix.add(i, (i + 1) % n, 3 + small(random));
    matrix.add(i, (i + 7) % n, small(random));
    matrix.add(i, (i + n / 2) % n, small(random));
  }
  return matrix;
}

// Tridiagonal and skew: of even order, so that it is not singular.
Entries skew(int n) {
  Entries matrix{n, {}};
  for (int i = 0; i + 1 < n; ++i) matrix.add(i + 1, i, 1 + i % 3);
  return matrix;
}

// Rows and columns of a dominant matrix times 10^-9 … 10^9.
Entries badly_scaled(int n) {
  Entries matrix{n, {}};
  const auto scale = [](int i) { return std::pow(10.0, 9 - i * 5 % 19); };
  for (int i = 0; i < n; ++i) {
    matrix.add(i, i, 4 * scale(i));
    matrix.add(i, (i + 1) % n, scale(i));
    matrix.add(i, (i + 5) % n, -2 * scale(i));
  }
  return matrix;
}

// The Laplacian of a path: its null space is that of the constant vectors.
Entries singular(int n) {
  Entries matrix{n, {}};
  for (int i = 0; i < n; ++i) {
    matrix.add(i, i, i == 0 || i == n - 1 ? 1 : 2);
    if (i + 1 < n) matrix.add(i + 1, i, -1);
  }
  return matrix;
}

// That of a tree whose vertices hang on one of the three before them.
Entries tree_laplacian(int n, std::mt19937& random) {
  Entries matrix{n, {}};
  std::vector<int> degree(static_cast<std::size_t>(n), 0);
  for (int i = 1; i < n; ++i) {
    const int parent = i - 1 - static_cast<int>(random() % std::min(i, 3));
    matrix.add(i, parent, -1);
    ++degree[i], ++degree[parent];
  }
  for (int i = 0; i < n; ++i) matrix.add(i, i, degree[i]);
  return matrix;
}

TEST(SolveKinds, TellsTheInertiaOfASaddlePoint) {
  const TemporaryFile matrix(saddle_point(200, 60).text("symmetric"));
  for (const char* kind : {"auto", "symmetric"}) {
    for (const char* precision : {"double", "single"}) {
      SCOPED_TRACE(fmt::format("{}, {}", kind, precision));
      const Outcome outcome =
          solve({matrix.path(), "--kind", kind, "--precision", precision});
      expect_solved(outcome);
      const json report = object(outcome);
      EXPECT_EQ(report["kind"], "symmetric");
      EXPECT_EQ(report["precision"], precision);
      EXPECT_EQ(report["positive_eigenvalues"], 200);
      EXPECT_EQ(report["negative_eigenvalues"], 60);
      EXPECT_EQ(report["zero_eigenvalues"], 0);
      EXPECT_EQ(report["null_space"], 0);
      EXPECT_LE(report["forward_error"], 1e-12);
      for (const char* key : {"delayed_pivots", "perturbed_pivots", "two_by_two_pivots"})
        EXPECT_TRUE(report.contains(key) && report[key].is_number_integer()) << key;
    }
  }
  // It has no Cholesky factor; asked for, that is the answer.
  const Outcome refused = solve({matrix.path(), "--kind", "spd"});
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_EQ(object(refused)["positive_definite"], false);
}

// One eigenvalue is negative, and 1e-10 of the largest: solutions are refined, the sign
// of a pivot is not.
TEST(SolveKinds, SaysThatAnInertiaInSinglePrecisionMayBeAnothers) {
  const int n = 200;
  const double shift = (2 - 2 * std::cos(std::acos(-1.0) / (n + 1))) * (1 + 1e-6);
  std::vector<std::string> entries;
  for (int i = 1; i <= n; ++i) {
    entries.push_back(fmt::format("{0} {0} {1}", i, 2 - shift));
    if (i < n) entries.push_back(fmt::format("{} {} -1", i + 1, i));
  }
  const TemporaryFile matrix(matrix_text(n, entries));
  for (const char* precision : {"double", "single"}) {
    const Outcome outcome =
        solve({matrix.path(), "--kind", "symmetric", "--precision", precision});
    const bool says = outcome.err.find("of a matrix nearby") != std::string::npos;
    const bool right = object(outcome)["negative_eigenvalues"] == 1;
    EXPECT_TRUE(right || says) << precision << ": " << outcome.err;
    EXPECT_EQ(says, precision == std::string("single")) << outcome.err;
  }
}

TEST(SolveKinds, GoesOnWithoutCholeskyByItself) {
  // |a_ij|^2 < a_ii a_jj everywhere, but the determinant is -1.376
  const TemporaryFile matrix(
      matrix_text(3, {"1 1 1", "2 1 0.9", "3 1 -0.9", "2 2 1", "3 2 0.9", "3 3 1"}));
  const Outcome outcome = solve({matrix.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  expect_says(outcome, "note: not positive definite; factored as L D L^T");
  const json report = object(outcome);
  EXPECT_EQ(report["kind"], "symmetric");
  EXPECT_EQ(report["positive_definite"], false);
  EXPECT_EQ(report["negative_eigenvalues"], 1);
  EXPECT_EQ(report["trusted"], true);
  EXPECT_LE(report["forward_error"], 1e-14);
}

TEST(SolveKinds, SolvesUnsymmetricSystemsAndTheirTransposes) {
  struct Case {
    const char* what;
    std::string text;
  };
  const std::vector<Case> cases = {
      {"zero diagonal, seed 1", zero_diagonal(150, 1).text("general")},
      {"zero diagonal, seed 2", zero_diagonal(151, 2).text("general")},
      {"skew", skew(80).text("skew-symmetric")},
      {"badly scaled", badly_scaled(90).text("general")}};
  for (const Case& each : cases) {
    const TemporaryFile matrix(each.text);
    for (const char* precision : {"double", "single"}) {
      for (const bool transposed : {false, true}) {
        SCOPED_TRACE(
            fmt::format("{}, {}, transposed {}", each.what, precision, transposed));
        std::vector<std::string> words = {matrix.path(), "--precision", precision};
        if (transposed) words.emplace_back("--transposed");
        const Outcome outcome = solve(words);
        const json report = object(outcome);
        EXPECT_EQ(report["kind"], "general");
        EXPECT_EQ(report["transposed"], transposed);
        EXPECT_FALSE(report.contains("negative_eigenvalues"));
        // Transposed, the rows of the badly scaled one are equations of all sizes, and
        // their unknowns lose all digits.
        if (transposed && each.what == std::string("badly scaled")) {
          EXPECT_EQ(outcome.status, 1);
          expect_says(outcome, "its error may be");
          EXPECT_LE(report["backward_error"], 1e-14);
        } else {
          expect_solved(outcome);
          EXPECT_LE(report["forward_error"], 1e-10);
        }
      }
    }
  }
}

TEST(SolveKinds, SolvesManyRightHandSidesOfEitherOperation) {
  constexpr int kSize = 60, kColumns = 21;
  const Entries a = zero_diagonal(kSize, 3);
  const TemporaryFile matrix(a.text("general"));
  for (const bool transposed : {false, true}) {
    SCOPED_TRACE(transposed);
    std::vector<double> solutions, sides;
    for (int c = 0; c < kColumns; ++c) {
      std::vector<double> x(kSize);
      for (int i = 0; i < kSize; ++i) x[i] = std::cos(c + 0.3 * i);
      const std::vector<double> b = a.times(x, transposed);
      solutions.insert(solutions.end(), x.begin(), x.end());
      sides.insert(sides.end(), b.begin(), b.end());
    }
    const TemporaryFile rhs(array_text(kSize, sides)), out("");
    std::vector<std::string> words = {matrix.path(), "--rhs", rhs.path(), "--out",
                                      out.path()};
    if (transposed) words.emplace_back("--transposed");
    const Outcome outcome = solve(words);
    expect_solved(outcome);
    EXPECT_EQ(object(outcome)["right_hand_sides"], kColumns);
    const std::vector<double> x = array_values(out.text());
    ASSERT_EQ(x.size(), solutions.size());
    for (std::size_t k = 0; k < x.size(); ++k)
      EXPECT_NEAR(x[k], solutions[k], 1e-11) << k;
  }
}

TEST(SolveKinds, ReadsSparseRightHandSides) {
  const Entries a = zero_diagonal(50, 4);
  const TemporaryFile matrix(a.text("general"));
  // A e_8 and zero; A e_1
  std::string text;
  int entries = 0;
  for (const auto& [row, column, value] : a.list) {
    if (column != 7 && column != 0) continue;
    text += fmt::format("{} {} {}\n", row + 1, column == 7 ? 1 : 3, value);
    ++entries;
  }
  const TemporaryFile rhs(fmt::format(
      "%%MatrixMarket matrix coordinate real general\n50 3 {}\n{}", entries, text));
  const TemporaryFile out("");
  expect_solved(solve({matrix.path(), "--rhs", rhs.path(), "--out", out.path()}));
  const std::vector<double> x = array_values(out.text());
  ASSERT_EQ(x.size(), 150U);
  for (int k = 0; k < 150; ++k) EXPECT_NEAR(x[k], k == 7 || k == 100 ? 1 : 0, 1e-13) << k;
}

TEST(SolveKinds, SaysThatAMatrixIsSingular) {
  // In its own order every pivot is exactly 1, and the last 0.
  const TemporaryFile matrix(singular(40).text("symmetric"));
  std::vector<double> sides(40, 0.0);
  sides[3] = 1;
  const TemporaryFile outside(array_text(40, sides));  // of the range
  sides[30] = -1;
  const TemporaryFile inside(array_text(40, sides));
  for (const char* kind : {"auto", "symmetric", "general"}) {
    SCOPED_TRACE(kind);
    const auto solve_for = [&](const TemporaryFile& rhs) {
      const Outcome outcome =
          solve({matrix.path(), "--kind", kind, "--ordering", "natural", "--scaling",
                 "none", "--rhs", rhs.path()});
      EXPECT_EQ(outcome.status, 1) << outcome.err;
      expect_says(outcome, "singular: estimated null space of dimension 1; ");
      EXPECT_EQ(object(outcome)["null_space"], 1);
      EXPECT_EQ(object(outcome)["trusted"], false);
      return outcome;
    };
    const Outcome many = solve_for(inside);
    expect_says(many, "the solution is one of many");
    EXPECT_LE(object(many)["backward_error"], 1e-12);
    const Outcome none = solve_for(outside);
    expect_says(none, "the right-hand side seems to be outside the range");
    expect_says(none, "not to be trusted: backward error");
  }
}

// Laplacians of random trees: b is in the range where it sums to zero. Rounding in the
// scaled system leaves of it what has no solution, in a row of small unknowns.
TEST(SolveKinds, TellsWhetherASingularSystemHasASolution) {
  std::mt19937 random(1);
  for (int instance = 0; instance < 12; ++instance) {
    const auto size = static_cast<std::int32_t>(10 + random() % 60);
    const TemporaryFile matrix(tree_laplacian(size, random).text("symmetric"));
    std::vector<double> sides(static_cast<std::size_t>(size), 0.0);
    sides[random() % 5] = 1;
    const TemporaryFile outside(array_text(size, sides));
    sides[5 + random() % 5] = -1;
    const TemporaryFile inside(array_text(size, sides));
    for (const char* kind : {"symmetric", "general"}) {
      SCOPED_TRACE(fmt::format("instance {}, {}", instance, kind));
      const auto solve_for = [&](const TemporaryFile& rhs) {
        return solve({matrix.path(), "--kind", kind, "--rhs", rhs.path()});
      };
      expect_says(solve_for(inside), "the solution is one of many");
      expect_says(solve_for(outside), "seems to be outside the range");
    }
  }
}

TEST(SolveKinds, TellsTheStructuralRank) {
  Entries a = zero_diagonal(30, 5);  // without its column 9
  std::erase_if(a.list, [](const auto& entry) { return std::get<1>(entry) == 9; });
  const TemporaryFile matrix(a.text("general"));
  const Outcome outcome = solve({matrix.path()});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  expect_says(outcome, "singular: estimated null space of dimension 1");
  EXPECT_EQ(object(outcome)["structural_rank"], 29);
  EXPECT_EQ(object(outcome)["null_space"], 1);
}

TEST(SolveKinds, KeepTheLeastBound) {
  const TemporaryFile indefinite(saddle_point(3000, 1000).text("symmetric"));
  const TemporaryFile general(zero_diagonal(1000, 6).text("general"));
  const std::vector<std::vector<std::string>> cases = {
      {"--grid", "14x14x14", "--kind", "spd"},
      {"--grid", "14x14x14", "--kind", "symmetric"},
      {"--grid", "14x14x14", "--kind", "general"},
      {indefinite.path()},
      {general.path()}};
  for (std::vector<std::string> words : cases) {
    for (const char* precision : {"double", "single"}) {
      SCOPED_TRACE(fmt::format("{}, {}", fmt::join(words, " "), precision));
      std::vector<std::string> all = words;
      all.insert(all.end(), {"--memory", "min", "--precision", precision});
      const Outcome outcome = solve(all);
      EXPECT_EQ(outcome.status, 0) << outcome.err;
      const json report = object(outcome);
      EXPECT_EQ(report["bound_kept"], true);
      EXPECT_LE(report["peak_rss_bytes"], report["bound_bytes"]);
      EXPECT_EQ(report["bound_bytes"], report["least_bytes"]);
      EXPECT_LE(report["forward_error"], 1e-9);
    }
  }
}

TEST(SolveKinds, CountTheWorkOfTheirFactorisation) {
  const auto work = [](const char* kind) {
    const json report = object(solve({"--grid", "9x9x9", "--kind", kind}));
    EXPECT_EQ(report["kind"], kind);
    return report.value("factor_flops", 0.0);
  };
  const double spd = work("spd");
  EXPECT_GT(spd, 0);
  EXPECT_EQ(work("symmetric"), spd);
  EXPECT_EQ(work("general"), 2 * spd);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
