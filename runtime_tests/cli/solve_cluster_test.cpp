// espalier solve on several processes of this machine, as mpirun starts them.
// The cases of one subject, which share their instances: over 300 lines.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// The program of this test is mpirun (CMakeLists.txt).
Outcome solve_with(int processes, std::vector<std::string> arguments) {
  std::vector<std::string> all = {"-n", std::to_string(processes), ESPALIER, "solve"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  return run(all);
}

Outcome solve_alone(std::vector<std::string> arguments) {
  return solve_with(1, std::move(arguments));
}

// Five points a grid point, with a wind: unsymmetric.
Entries wind(int nx, int ny) {
  Entries matrix{nx * ny, {}};
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      const int i = x + y * nx;
      matrix.add(i, i, 4 + 0.01 * (i % 7));
      if (x > 0) matrix.add(i, i - 1, -1.4);
      if (x + 1 < nx) matrix.add(i, i + 1, -0.6);
      if (y > 0) matrix.add(i, i - nx, -1.2);
      if (y + 1 < ny) matrix.add(i, i + nx, -0.8);
    }
  return matrix;
}

// Lower triangle of a shifted Laplacian: indefinite.
Entries shifted(int nx, int ny) {
  Entries matrix{nx * ny, {}};
  for (int y = 0; y < ny; ++y)
    for (int x = 0; x < nx; ++x) {
      const int i = x + y * nx;
      matrix.add(i, i, 1.3 + 0.001 * (i % 5));
      if (x + 1 < nx) matrix.add(i + 1, i, -1);
      if (y + 1 < ny) matrix.add(i + nx, i, -1);
    }
  return matrix;
}

json expect_solved_by(int processes, const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json report = object(outcome);
  EXPECT_EQ(report.value("processes", 0), processes);
  EXPECT_LE(report.value("backward_error", 1.0), 1e-12);
  EXPECT_TRUE(report.value("trusted", false));
  if (!report.contains("bound_bytes")) return report;
  EXPECT_TRUE(report.value("bound_kept", false));
  for (const auto& peak : report["process_peak_rss_bytes"])
    EXPECT_LE(peak.get<std::int64_t>(), report["bound_bytes"].get<std::int64_t>());
  const auto& predicted = report["process_predicted_peak_bytes"];
  EXPECT_EQ(predicted.size(), static_cast<std::size_t>(processes));
  return report;
}

double worst_difference(const std::string& a, const std::string& b) {
  const std::vector<double> x = array_values(a), y = array_values(b);
  EXPECT_EQ(x.size(), y.size());
  double worst = 0;
  for (std::size_t i = 0; i < std::min(x.size(), y.size()); ++i)
    worst = std::max(worst, std::abs(x[i] - y[i]));
  return worst;
}

TEST(SolveOnCluster, SolvesAGridInsideTheLeastBoundOfEachProcess) {
  for (const int processes : {2, 3, 4}) {
    const json report = expect_solved_by(
        processes, solve_with(processes, {"--grid", "16x16x16", "--memory", "min",
                                          "--workers", "1", "--json"}));
    EXPECT_GT(report.value("shared_nodes", 0), 0);
    EXPECT_GT(report.value("messages", 0), 0);
    EXPECT_LE(report.value("forward_error", 1.0), 1e-10);
  }
}

TEST(SolveOnCluster, HasTilesOverGridsWhereItIsToldSo) {
  const json report = expect_solved_by(
      2, solve_with(2, {"--grid", "28x28x28", "--kind", "spd", "--front-grids", "always",
                        "--memory", "min", "--workers", "1", "--json"}));
  EXPECT_GT(report.value("grid_nodes", 0), 0);
  EXPECT_LE(report.value("forward_error", 1.0), 1e-10);
}

TEST(SolveOnCluster, SolvesEveryKindAsOneProcessDoes) {
  const TemporaryFile general(wind(40, 35).text("general"));
  const TemporaryFile symmetric(shifted(36, 36).text("symmetric"));
  for (const TemporaryFile* matrix : {&general, &symmetric}) {
    const TemporaryFile alone(""), together("");
    EXPECT_EQ(solve_alone({matrix->path(), "--out", alone.path(), "--json"}).status, 0);
    for (const int workers : {1, 2}) {
      const json report = expect_solved_by(
          3, solve_with(3, {matrix->path(), "--memory", "min", "--out", together.path(),
                            "--workers", std::to_string(workers), "--json"}));
      EXPECT_EQ(report.value("kind", ""), matrix == &general ? "general" : "symmetric");
      EXPECT_LE(worst_difference(alone.text(), together.text()), 1e-9);
    }
  }
}

// The entries turned in the complex plane, but for those on the diagonal of a Hermitian
// matrix.
std::string turned(const Entries& matrix, const std::string& symmetry) {
  std::string text =
      fmt::format("%%MatrixMarket matrix coordinate complex {}\n{} {} {}\n", symmetry,
                  matrix.size, matrix.size, matrix.list.size());
  for (const auto& [i, j, value] : matrix.list) {
    const double angle =
        i == j && symmetry == "hermitian" ? 0 : 0.1 * ((31 * i + 17 * j) % 23);
    text += fmt::format("{} {} {} {}\n", i + 1, j + 1, value * std::cos(angle),
                        value * std::sin(angle));
  }
  return text;
}

// Of an array of complex numbers: all parts.
std::vector<double> parts(const std::string& text) {
  std::istringstream in(text);
  std::string banner;
  std::getline(in, banner);
  EXPECT_EQ(banner, "%%MatrixMarket matrix array complex general");
  std::vector<double> values;
  for (double value = 0; in >> value;) values.push_back(value);
  return values;
}

void expect_equal_parts(const std::string& a, const std::string& b, double tolerance) {
  const std::vector<double> x = parts(a), y = parts(b);
  ASSERT_EQ(x.size(), y.size());
  ASSERT_GT(x.size(), 2u);
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(x[i], y[i], tolerance) << i;
}

TEST(SolveOnCluster, SolvesComplexSystemsAsOneProcessDoes) {
  const std::vector<std::tuple<std::string, std::string, Entries>> systems = {
      {"general", "--transposed", wind(30, 30)},
      {"general", "--conjugate-transposed", wind(30, 30)},
      {"symmetric", "--conjugate-transposed", shifted(30, 30)},
      {"hermitian", "--transposed", shifted(30, 30)}};
  for (const auto& [symmetry, operation, entries] : systems) {
    SCOPED_TRACE(symmetry + operation);
    const TemporaryFile matrix(turned(entries, symmetry)), alone(""), together("");
    std::vector<double> b;
    for (int i = 0; i < entries.size; ++i) b.push_back(std::sin(i));
    const TemporaryFile rhs(array_text(entries.size, b));  // real
    std::vector<std::string> arguments = {
        matrix.path(), operation, "--rhs",         rhs.path(), "--json",
        "--workers",   "1",       "--determinant", "--out",    alone.path()};
    const Outcome one = solve_alone(arguments);
    EXPECT_EQ(one.status, 0) << one.err;
    arguments.back() = together.path();
    arguments.insert(arguments.end(), {"--memory", "min"});
    const json report = expect_solved_by(3, solve_with(3, arguments));
    EXPECT_EQ(report["scalar"], "complex");
    EXPECT_EQ(report["symmetry"], symmetry);
    for (const char* part : {"determinant_log", "determinant_argument"})
      EXPECT_NEAR(report[part], object(one)[part], 1e-9) << part;
    expect_equal_parts(alone.text(), together.text(), 1e-9);
  }
}

TEST(SolveOnCluster, SolvesShiftedGridsSavesThemAndLoadsThemAgain) {
  const TemporaryFile factor(""), first(""), again("");
  std::vector<std::string> grid = {"--grid",   "16x16x16", "--shift",   "-0.5,0.2",
                                   "--memory", "min",      "--json",    "--workers",
                                   "1",        "--out",    first.path()};
  std::vector<std::string> saving = grid;
  saving.insert(saving.end(), {"--save", factor.path()});
  json report = expect_solved_by(2, solve_with(2, saving));
  EXPECT_GT(report.value("shared_nodes", 0), 0);
  EXPECT_LE(report.value("forward_error", 1.0), 1e-10);
  report = expect_solved_by(
      2, solve_with(2, {"--factor", factor.path(), "--out", again.path(), "--json"}));
  EXPECT_EQ(report["scalar"], "complex");
  EXPECT_LE(report.value("forward_error", 1.0), 1e-10);
  expect_equal_parts(first.text(), again.text(), 1e-10);
  grid.insert(grid.end(), {"--precision", "single", "--out-of-core", testing::TempDir()});
  report = expect_solved_by(2, solve_with(2, grid));
  EXPECT_LE(report.value("forward_error", 1.0), 1e-10);
  std::filesystem::remove(factor.path() + ".1");
}

// [1 -i; i 1] in two places, apart.
TEST(SolveOnCluster, WritesTheNullSpaceOfAComplexMatrix) {
  const TemporaryFile singular(
      "%%MatrixMarket matrix coordinate complex hermitian\n4 4 6\n1 1 1 0\n2 1 0 1\n"
      "2 2 1 0\n3 3 1 0\n4 3 0 1\n4 4 1 0\n");
  const TemporaryFile basis("");
  const Outcome outcome =
      solve_with(2, {singular.path(), "--null-space", basis.path(), "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(object(outcome)["null_space"], 2);
  const std::vector<double> v = parts(basis.text());  // after the sizes
  ASSERT_EQ(v.size(), 2u + 16u);
  for (std::size_t k = 2; k < v.size(); k += 4) {  // x - i y = 0
    EXPECT_NEAR(v[k] + v[k + 3], 0, 1e-14);
    EXPECT_NEAR(v[k + 1] - v[k + 2], 0, 1e-14);
  }
}

TEST(SolveOnCluster, SolvesTransposedInSinglePrecisionForManyRightHandSides) {
  const Entries matrix = wind(30, 30);
  const TemporaryFile file(matrix.text("general"));
  std::vector<double> x, b;
  for (int column = 0; column < 3; ++column) {
    std::vector<double> one;
    for (int i = 0; i < matrix.size; ++i) one.push_back(std::sin(i + column));
    const std::vector<double> rhs = matrix.times(one, true);
    x.insert(x.end(), one.begin(), one.end());
    b.insert(b.end(), rhs.begin(), rhs.end());
  }
  const TemporaryFile rhs(array_text(matrix.size, b)), out("");
  expect_solved_by(
      2, solve_with(2, {file.path(), "--transposed", "--precision", "single", "--rhs",
                        rhs.path(), "--out", out.path(), "--memory", "x1.2",
                        "--estimate-errors", "--workers", "1", "--json"}));
  const std::vector<double> solved = array_values(out.text());
  ASSERT_EQ(solved.size(), x.size());
  for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(solved[i], x[i], 1e-10);
}

TEST(SolveOnCluster, GoesOnAsLdltWhereCholeskyFails) {
  // The diagonal is positive and no pair of entries tells; the matrix is indefinite.
  const TemporaryFile matrix(shifted(30, 30).text("symmetric"));
  const json report = expect_solved_by(
      2, solve_with(2, {matrix.path(), "--workers", "1", "--memory", "min", "--json"}));
  EXPECT_EQ(report.value("kind", ""), "symmetric");
  EXPECT_GT(report.value("negative_eigenvalues", 0), 0);
  const Outcome definite = solve_with(2, {matrix.path(), "--kind", "spd", "--json"});
  EXPECT_EQ(definite.status, 1);
  expect_says(definite, "not positive definite: no positive pivot in column");
}

TEST(SolveOnCluster, RefusesABoundThatIsTooSmallWithTheLeast) {
  const Outcome outcome =
      solve_with(2, {"--grid", "10x10x10", "--memory", "5MiB", "--json"});
  EXPECT_EQ(outcome.status, 1);
  const json report = object(outcome);
  EXPECT_FALSE(report.value("feasible", true));
  EXPECT_GT(report.value("least_bytes", std::int64_t{0}), std::int64_t{5} << 20);
  expect_says(outcome, "with --out-of-core DIR or on more processes");
}

TEST(SolveOnCluster, KeepsTheBoundOfVeryManySmallLeaves) {
  const TemporaryFile leaves(arrow(60'000).text("symmetric"));
  const TemporaryFile points(points_and_cameras(100'000, 200).text("symmetric"));
  for (const auto& [file, processes] : {std::pair(&leaves, 3), std::pair(&points, 2)})
    expect_solved_by(processes, solve_with(processes, {file->path(), "--memory", "min",
                                                       "--workers", "1", "--json"}));
}

// A path: thousands of fronts of four columns in a row, none of which is a leaf.
TEST(SolveOnCluster, KeepsTheBoundOfVeryManySmallNodes) {
  for (const int processes : {2, 3})
    expect_solved_by(
        processes,
        solve_with(processes, {"--grid", "60000x1", "--kind", "spd", "--ordering", "amd",
                               "--memory", "min", "--workers", "1", "--json"}));
}

// Twenty thousand shared fronts: the lists of who has what of them differ by megabytes
// between mappings, and what is measured while one is at hand is not what another takes.
TEST(SolveOnCluster, KeepsTheBoundOfVeryManySharedFronts) {
  expect_solved_by(
      3, solve_with(3, {"--grid", "30000x1", "--kind", "spd", "--ordering", "amd",
                        "--memory", "min", "--workers", "1", "--json"}));
}

TEST(SolveOnCluster, SolvesWhereNoProcessOrOneHasWork) {
  for (const int size : {0, 1}) {
    Entries matrix{size, {}};
    for (int i = 0; i < size; ++i) matrix.add(i, i, 2);
    const TemporaryFile file(matrix.text("general"));
    const Outcome outcome = solve_with(3, {file.path(), "--memory", "min", "--json"});
    const json report = expect_solved_by(3, outcome);
    // A number, never the nothing of 0 / 0.
    EXPECT_TRUE(report["memory_efficiency"].is_number()) << outcome.out;
    EXPECT_TRUE(report["measured_memory_efficiency"].is_number()) << outcome.out;
  }
}

// The Laplacian of two grids, whose null space are two constants.
TEST(SolveOnCluster, WritesTheBasisOfTheNullSpaceThatOneProcessFinds) {
  constexpr int kSide = 40, kPoints = kSide * kSide;
  Entries grids{2 * kPoints, {}};
  for (int grid = 0; grid < 2; ++grid)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x) {
        const int i = grid * kPoints + x + y * kSide;
        const int ends = (x == 0) + (x + 1 == kSide) + (y == 0) + (y + 1 == kSide);
        grids.add(i, i, 4 - ends);
        if (x + 1 < kSide) grids.add(i + 1, i, -1);
        if (y + 1 < kSide) grids.add(i + kSide, i, -1);
      }
  const TemporaryFile matrix(grids.text("symmetric")), out("");
  const Outcome outcome = solve_with(
      3, {matrix.path(), "--kind", "symmetric", "--null-space", out.path(), "--json"});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  EXPECT_EQ(object(outcome)["null_space"], 2);
  const std::vector<double> basis = array_values(out.text());
  ASSERT_EQ(basis.size(), 4u * kPoints);
  for (int vector = 0; vector < 2; ++vector) {
    const double* const v = basis.data() + vector * 2 * kPoints;
    for (int k = 0; k < 2 * kPoints; ++k)
      ASSERT_NEAR(v[k], v[k / kPoints * kPoints], 1e-10) << k;
  }
}

// As on another host: the second process does not see what the first one reads and
// writes.
TEST(SolveOnCluster, WritesResultsWhereTheFirstProcessSeesTheirDirectory) {
  const std::filesystem::path here = TemporaryFile("").path() + ".here";
  std::filesystem::create_directories(here / "results");
  std::ofstream(here / "matrix.mtx") << wind(9, 9).text("general");
  const std::string from_there =
      R"(test "$OMPI_COMM_WORLD_RANK" = 0 && cd "$0" || cd /; exec "$@")";
  const std::vector<std::string> job = {"-n",
                                        "2",
                                        "sh",
                                        "-c",
                                        from_there,
                                        here.string(),
                                        ESPALIER,
                                        "solve",
                                        "matrix.mtx",
                                        "--out",
                                        "results/x.mtx",
                                        "--report",
                                        "results/page.html",
                                        "--null-space",
                                        "results/n.mtx",
                                        "--workers=1"};
  const Outcome outcome = run(job);
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_TRUE(std::filesystem::exists(here / "results/x.mtx"));
  EXPECT_TRUE(std::filesystem::exists(here / "results/page.html"));
  std::filesystem::remove_all(here);
}

TEST(SolveOnCluster, SavesAPartForEachProcessAndLoadsThemAgain) {
  const TemporaryFile matrix(wind(30, 30).text("general"));
  const TemporaryFile factor("");  // for its name
  const std::string second = factor.path() + ".1", third = factor.path() + ".2";
  const TemporaryFile first(""), again("");
  expect_solved_by(3, solve_with(3, {matrix.path(), "--save", factor.path(), "--out",
                                     first.path(), "--workers", "1", "--json"}));
  const Entries entries = wind(30, 30);
  const TemporaryFile rhs(array_text(
      entries.size, entries.times(std::vector<double>(entries.size, 1.0), false)));
  expect_solved_by(3, solve_with(3, {"--factor", factor.path(), "--rhs", rhs.path(),
                                     "--out", again.path(), "--workers", "1", "--json"}));
  EXPECT_LE(worst_difference(first.text(), again.text()), 1e-12);
  const Outcome other = solve_with(2, {"--factor", factor.path()});
  EXPECT_EQ(other.status, 2);
  expect_says(other, "was saved by 3 processes, and is loaded by 2");
  const Outcome alone = solve_alone({"--factor", factor.path()});
  EXPECT_EQ(alone.status, 2);
  expect_says(alone, "was saved by 3 processes, and is loaded by 1");
  std::filesystem::remove(third);
  const Outcome missing = solve_with(3, {"--factor", factor.path()});
  EXPECT_EQ(missing.status, 2);
  expect_says(missing, third + ": cannot be opened");
  std::filesystem::remove(second);
}

// What is left of a machine is divided by its processes, which see it at other moments.
TEST(SolveOnCluster, TakesItsShareOfWhatIsLeft) {
  const json report = expect_solved_by(
      2,
      solve_with(2, {"--grid", "6x6x6", "--memory", "auto", "--workers", "1", "--json"}));
  EXPECT_GT(report["bound_bytes"].get<std::int64_t>(), 0);
}

TEST(SolveOnCluster, KeepsOutOfCoreWhatDoesNotFit) {
  const std::string folder = testing::TempDir();
  const json report = expect_solved_by(
      2, solve_with(2, {"--grid", "24x24x24", "--memory", "min", "--out-of-core", folder,
                        "--workers", "1", "--json"}));
  EXPECT_LT(report["out_of_core_least_bytes"].get<std::int64_t>(),
            report["least_bytes"].get<std::int64_t>());
  EXPECT_EQ(report["process_spill_file_bytes"].size(), 2U);
}

// What goes wrong at one process or at all of them is said once.
// Of what is said: the command that works stands indented.
std::int64_t lines_with(const std::string& text, const std::string& words) {
  std::istringstream lines(text);
  std::int64_t count = 0;
  for (std::string line; std::getline(lines, line);)
    count += !line.starts_with("  ") && line.find(words) != std::string::npos;
  return count;
}

TEST(SolveOnCluster, SaysOnceWhatIsWrong) {
  const TemporaryFile broken(
      "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 x 1\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> wrong = {
      {{"/no/such/matrix.mtx"}, "/no/such/matrix.mtx"},
      {{broken.path()}, broken.path() + ":3"},
      {{"--grid", "4x4x4", "--out-of-core", "/no/such/place", "--memory", "min"},
       "/no/such/place"},
      {{"--grid", "4x4x4", "--save", "/no/such/place/f"}, "/no/such/place/f"},
      {{"--factor", "/no/such/factor"}, "/no/such/factor"},
      {{"--grid", "4x4x4", "--out", "/no/such/folder/x"}, "/no/such/folder/x"},
      {{"--grid", "4x4x4", "--save", broken.path() + "f", "--out", broken.path() + "f.2"},
       "f.2: is the file of --out"},
      {{"--grid", "4x4x4", "--nonsense"}, "--nonsense"}};
  for (const auto& [arguments, words] : wrong) {
    const Outcome outcome = solve_with(3, arguments);
    EXPECT_NE(outcome.status, 0);
    EXPECT_EQ(outcome.out, "");
    EXPECT_EQ(lines_with(outcome.err, words), 1) << outcome.err;
  }
}

// Of each option that processes work by; results are for process 0 to write.
TEST(SolveOnCluster, RefusesProcessesOfDifferentOptions) {
  const std::vector<std::array<std::string, 3>> different = {
      {"--grid 4x4x4", "--grid 4x4x4 --order postorder", "order="},
      {"--grid 4x4x4 --mapping proportional", "--grid 4x4x4", "mapping="},
      {"--factor same", "same", "="}};
  for (const auto& [first, second, words] : different) {
    const Outcome outcome =
        run({"-n", "2", "sh", "-c",
             fmt::format("if [ $OMPI_COMM_WORLD_RANK = 0 ]; then exec '{0}' solve {1}; "
                         "else exec '{0}' solve {2}; fi",
                         ESPALIER, first, second)});
    EXPECT_EQ(outcome.status, 2) << outcome.err;
    EXPECT_EQ(lines_with(outcome.err, "processes of this job differ"), 1) << outcome.err;
    expect_says(outcome, words);
  }
}

// As in one process: solver/numeric/trust_test.cpp.
TEST(SolveOnCluster, TrustsWhatOneProcessTrusts) {
  Entries scaled{41, {}};
  scaled.add(0, 0, 1e100);
  for (int i = 1; i < 41; ++i)
    for (int j = std::max(1, i - 3); j < std::min(41, i + 4); ++j)
      scaled.add(i, j, 1. / (i % 7 + j % 7 + 1));
  const TemporaryFile large(scaled.text("general"));
  const TemporaryFile out("");
  const Outcome outcome = solve_with(2, {large.path(), "--precision", "single", "--out",
                                         out.path(), "--json", "--workers", "1"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const std::vector<double> x = array_values(out.text());
  ASSERT_EQ(x.size(), 41U);
  const std::vector<double> b = scaled.times(std::vector<double>(41, 1.0), false);
  const std::vector<double> product = scaled.times(x, false);
  for (int i = 0; i < 41; ++i) EXPECT_NEAR(product[i] / b[i], 1, 1e-13) << i;

  const int k = 94;  // free boundaries: rows sum to zero, the last pivot is rounding
  Entries laplacian{k * k, {}};
  for (int i = 0; i < k * k; ++i) {
    const bool right = i % k + 1 < k, up = i + k < k * k;
    laplacian.add(i, i, right + up + (i % k > 0) + (i >= k));
    if (right) laplacian.add(i + 1, i, -1);
    if (up) laplacian.add(i + k, i, -1);
  }
  std::vector<double> unit(k * k, 0.0);
  unit[0] = 1;
  const TemporaryFile matrix(laplacian.text("symmetric"));
  const TemporaryFile rhs(array_text(k * k, unit));
  const Outcome none =
      solve_with(2, {matrix.path(), "--rhs", rhs.path(), "--json", "--workers", "1"});
  EXPECT_EQ(none.status, 1) << none.err;
  expect_says(none, "singular: estimated null space of dimension 1");
  EXPECT_EQ(object(none)["trusted"], false);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
