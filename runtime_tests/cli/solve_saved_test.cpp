// espalier solve --save, and --factor in the place of a matrix.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "cli/program.h"
#include "cli/solving.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

// Not symmetric, and without diagonal in every third row.
Entries unsymmetric(int n) {
  Entries matrix{n, {}};
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 0) matrix.add(i, i, 1 + i % 5);
    matrix.add(i, (i + 1) % n, -6);
    matrix.add(i, (i + 11) % n, 0.5 + i % 2);
  }
  return matrix;
}

// Positive definite; with `shift` indefinite.
Entries path(int n, double shift) {
  Entries matrix{n, {}};
  for (int i = 0; i < n; ++i) {
    matrix.add(i, i, 2.5 - (i % 2 == 0 ? shift : 0));
    if (i + 1 < n) matrix.add(i + 1, i, -1);
  }
  return matrix;
}

std::string two_sides(int n) {
  std::vector<double> values(2 * n);
  for (int k = 0; k < 2 * n; ++k) values[k] = std::sin(1 + 0.7 * k);
  return array_text(n, values);
}

struct Case {
  const char* kind;
  const char* precision;
};

class SavedFactor : public ::testing::TestWithParam<Case> {
 protected:
  static std::string matrix() {
    const std::string kind = GetParam().kind;
    return kind == "general" ? unsymmetric(kSize).text("general")
                             : path(kSize, kind == "spd" ? 0 : 4).text("symmetric");
  }
  static constexpr int kSize = 120;
};

TEST_P(SavedFactor, GivesTheAnswersOfTheRunThatSavedIt) {
  const TemporaryFile a(matrix()), rhs(two_sides(kSize)), out("");
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/factor";
  const auto answer = [&](std::vector<std::string> words) {
    words.insert(words.end(), {"--rhs", rhs.path(), "--out", out.path()});
    const Outcome outcome = solve(words);
    expect_solved(outcome);
    EXPECT_EQ(object(outcome)["kind"], GetParam().kind);
    EXPECT_EQ(object(outcome)["precision"], GetParam().precision);
    EXPECT_EQ(object(outcome)["right_hand_sides"], 2);
    return array_values(out.text());
  };
  const std::vector<std::string> made = {a.path(), "--kind", GetParam().kind,
                                         "--precision", GetParam().precision};
  std::vector<std::string> saving = made, transposed = made;
  saving.insert(saving.end(), {"--save", file});
  transposed.emplace_back("--transposed");
  const std::vector<double> x = answer(saving);
  ASSERT_EQ(x.size(), 2U * kSize);
  EXPECT_EQ(answer({"--factor", file}), x);
  EXPECT_EQ(answer({"--factor", file, "--transposed"}), answer(transposed));
  EXPECT_EQ(directory.names(), std::vector<std::string>{"factor"});
}

INSTANTIATE_TEST_SUITE_P(
    EveryKind, SavedFactor,
    ::testing::Values(Case{"spd", "double"}, Case{"symmetric", "double"},
                      Case{"general", "double"}, Case{"symmetric", "single"},
                      Case{"general", "single"}),
    [](const auto& each) {
      return fmt::format("{}_{}", each.param.kind, each.param.precision);
    });

TEST(Saved, OutOfCoreInsideTheBoundAndLoadedIntoMemory) {
  const TemporaryDirectory spill, results;
  const std::string file = results.path() + "/factor";
  const Outcome saved = solve({"--grid", "24x24x24", "--memory", "min", "--out-of-core",
                               spill.path(), "--save", file});
  expect_solved(saved);
  EXPECT_GT(object(saved)["bytes_written"], 0);
  EXPECT_EQ(object(saved)["bound_kept"], true);
  EXPECT_GT(object(saved)["save_seconds"], 0.0);
  const Outcome loaded = solve({"--factor", file});  // for A times ones
  expect_solved(loaded);
  EXPECT_LE(object(loaded)["forward_error"], 1e-11);
  EXPECT_EQ(object(loaded)["size"], 24 * 24 * 24);
  EXPECT_EQ(object(loaded)["factor_entries"], object(saved)["factor_entries"]);
  for (const char* key : {"ordering", "scaling", "entries", "factor_seconds"})
    EXPECT_FALSE(object(loaded).contains(key)) << key;
}

TEST(Saved, StaysSingular) {
  Entries a{40, {}};  // the Laplacian of a path
  for (int i = 0; i < 40; ++i) {
    a.add(i, i, i == 0 || i == 39 ? 1 : 2);
    if (i < 39) a.add(i + 1, i, -1);
  }
  const TemporaryFile matrix(a.text("symmetric"));
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/factor";
  EXPECT_EQ(solve({matrix.path(), "--ordering", "natural", "--save", file}).status, 1);
  const Outcome outcome = solve({"--factor", file});
  EXPECT_EQ(outcome.status, 1) << outcome.err;
  expect_says(outcome, file + ": singular: estimated null space of dimension 1");
  EXPECT_EQ(object(outcome)["null_space"], 1);
  EXPECT_EQ(object(outcome)["positive_eigenvalues"], 39);
  EXPECT_EQ(object(outcome)["negative_eigenvalues"], 0);
  EXPECT_EQ(object(outcome)["trusted"], false);
}

TEST(Saved, DamagedFilesAreNamed) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/factor";
  expect_solved(solve({"--grid", "6x6", "--save", file}));
  const auto size = static_cast<std::int64_t>(std::filesystem::file_size(file));
  for (const std::int64_t place : {std::int64_t{0}, size / 2, size - 1}) {
    std::fstream bytes(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekg(place);
    const int old = bytes.get();
    bytes.seekp(place).put(static_cast<char>(old ^ 0x10));
    bytes.close();
    SCOPED_TRACE(place);
    expect_refused({"--factor", file}, {file});
    bytes.open(file, std::ios::binary | std::ios::in | std::ios::out);
    bytes.seekp(place).put(static_cast<char>(old));
  }
  expect_solved(solve({"--factor", file}));
  std::filesystem::resize_file(file, static_cast<std::uintmax_t>(size - 8));
  expect_refused({"--factor", file}, {file});
  const TemporaryFile text("%%MatrixMarket matrix array real general\n1 1\n1\n");
  expect_refused({"--factor", text.path()}, {text.path()});
  expect_refused({"--factor", "/nosuch/factor"}, {"/nosuch/factor"});
}

TEST(Saved, AnOlderFileStaysWhenTheNewOneDoesNotFit) {
  const TemporaryDirectory directory;
  const std::string file = directory.path() + "/factor";
  expect_solved(solve({"--grid", "5x5", "--save", file}));
  const Outcome full =
      run({"solve", "--grid", "30x30", "--workers", "2", "--save", file}, 64 << 10);
  EXPECT_EQ(full.status, 3) << full.err;
  expect_says(full, file);
  EXPECT_EQ(directory.names(), std::vector<std::string>{"factor"});
  expect_solved(solve({"--factor", file}));
}

TEST(Saved, RefusesWhatTheFileHasDecided) {
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{"a.mtx"},
                                             {"--grid", "5"},
                                             {"--save", "g"},
                                             {"--kind", "spd"},
                                             {"--precision", "single"},
                                             {"--scaling", "none"},
                                             {"--pivot-threshold", "0.1"},
                                             {"--memory", "min"},
                                             {"--delay-reserve", "1MiB"},
                                             {"--out-of-core", "."},
                                             {"--ordering", "natural"},
                                             {"--order", "liu"},
                                             {"--mapping", "proportional"},
                                             {"--front-grids", "volume"}}) {
    std::vector<std::string> words = {"--factor", "f"};
    words.insert(words.end(), more.begin(), more.end());
    expect_refused(words, {"--factor", more.size() == 1 ? "MATRIX" : more.front()});
  }
}

TEST(Saved, RefusesPlacesWhereItCannotGo) {
  const TemporaryDirectory directory;
  expect_refused({"--grid", "5", "--save", "/no/such/place"},
                 {"--save /no/such/place", "cannot be written"});
  expect_refused({"--grid", "5", "--save", "/dev/null"}, {"--save /dev/null", "plain"});
  expect_refused({"--grid", "5", "--save", directory.path()}, {"plain"});
  const std::string same = directory.path() + "/x";
  expect_refused({"--grid", "5", "--save", same, "--out", directory.path() + "/./x"},
                 {"--save " + same, "--out"});
}

TEST(Results, TakeNoPlaceOfInputsAndOfOneAnother) {
  const TemporaryDirectory directory;
  const std::string same = directory.path() + "/x", link = directory.path() + "/link";
  std::filesystem::create_symlink("./x", link);
  for (const std::vector<const char*>& options :
       std::vector<std::vector<const char*>>{{"--out", "--trace"},
                                             {"--out", "--null-space"},
                                             {"--trace", "--report"},
                                             {"--null-space", "--save"}})
    expect_refused({"--grid", "5", options[0], same, options[1], link},
                   {std::string(options[1]) + " " + link, options[0]});
  const TemporaryFile matrix(path(5, 0).text("symmetric"));
  const std::string rhs = directory.path() + "/b", file = directory.path() + "/factor";
  std::ofstream(rhs) << array_text(5, {1, 2, 3, 4, 5});
  for (const char* option : {"--out", "--trace", "--null-space", "--report", "--save"})
    expect_refused({matrix.path(), option, matrix.path()}, {option, "MATRIX"});
  expect_refused({matrix.path(), "--rhs", rhs, "--save", rhs}, {"--save", "--rhs"});
  EXPECT_EQ(matrix.text(), path(5, 0).text("symmetric"));
  expect_solved(solve({matrix.path(), "--rhs", rhs, "--out", rhs, "--save", file}));
  expect_refused({"--factor", file, "--out", file}, {"--out", "--factor"});
  expect_solved(solve({"--grid", "5", "--out", "/dev/null", "--report", "/dev/null"}));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
