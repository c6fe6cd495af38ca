#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <tuple>
#include <vector>

#include "cli/json_answer.h"
#include "cli/program.h"

namespace espalier::cli_test {

/// espalier solve … --workers 2 --json
[[nodiscard]] Outcome solve(std::vector<std::string> arguments);

/// Status 0, nothing on standard error, a backward error of rounding size.
void expect_solved(const Outcome& outcome);
/// Status 2, nothing on standard output, a message that holds all of `words`.
void expect_refused(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& words);
/// Whether standard error has these words; the whole of it is printed when not.
void expect_says(const Outcome& outcome, const std::string& words);

/// A Matrix Market file of the lower triangle; `entries` are its lines.
[[nodiscard]] std::string matrix_text(int size, const std::vector<std::string>& entries);

/// A real matrix by its entries, counted from 0.
struct Entries {
  int size = 0;
  std::vector<std::tuple<int, int, double>> list;

  void add(int row, int column, double value) { list.emplace_back(row, column, value); }
  /// @param symmetry  "general"; for "symmetric" and "skew-symmetric" the entries are
  ///                  of the lower triangle
  [[nodiscard]] std::string text(const std::string& symmetry) const;
  /// A x, or A^T x, of a general matrix.
  [[nodiscard]] std::vector<double> times(const std::vector<double>& x,
                                          bool transposed = false) const;
};

/// Lower triangles of matrices whose trees have very many small leaves: an arrow that
/// points down, and points that each meet three of a few cameras. Positive definite.
[[nodiscard]] Entries arrow(int size);
[[nodiscard]] Entries points_and_cameras(int points, int cameras);

/// A "matrix array real general" file of these values, by columns, and back.
[[nodiscard]] std::string array_text(int rows, const std::vector<double>& values);
[[nodiscard]] std::vector<double> array_values(const std::string& text);

}  // namespace espalier::cli_test
