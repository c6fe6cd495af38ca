#include "cli/solving.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <sstream>

namespace espalier::cli_test {

using nlohmann::json;

Outcome solve(std::vector<std::string> arguments) {
  arguments.insert(arguments.begin(), "solve");
  arguments.insert(arguments.end(), {"--workers", "2", "--json"});
  return run(arguments);
}

void expect_solved(const Outcome& outcome) {
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(outcome.err, "");
  const json report = object(outcome);
  EXPECT_LE(report.value("backward_error", 1.0), 1e-14) << outcome.out;
  EXPECT_EQ(report.value("trusted", false), true) << outcome.out;
}

void expect_refused(const std::vector<std::string>& arguments,
                    const std::vector<std::string>& words) {
  const Outcome outcome = solve(arguments);
  EXPECT_EQ(outcome.status, 2) << outcome.err;
  EXPECT_EQ(outcome.out, "");
  for (const std::string& word : words) expect_says(outcome, word);
}

void expect_says(const Outcome& outcome, const std::string& words) {
  EXPECT_NE(outcome.err.find(words), std::string::npos) << words << " in " << outcome.err;
}

std::string matrix_text(int size, const std::vector<std::string>& entries) {
  return fmt::format("%%MatrixMarket matrix coordinate real symmetric\n{} {} {}\n{}{}",
                     size, size, entries.size(), fmt::join(entries, "\n"),
                     entries.empty() ? "" : "\n");
}

std::string Entries::text(const std::string& symmetry) const {
  std::string text = fmt::format("%%MatrixMarket matrix coordinate real {}\n{} {} {}\n",
                                 symmetry, size, size, list.size());
  for (const auto& [row, column, value] : list)
    text += fmt::format("{} {} {}\n", row + 1, column + 1, value);
  return text;
}

std::vector<double> Entries::times(const std::vector<double>& x, bool transposed) const {
  std::vector<double> y(x.size(), 0.0);
  for (const auto& [row, column, value] : list) {
    if (transposed)
      y[column] += value * x[row];
    else
      y[row] += value * x[column];
  }
  return y;
}

std::string array_text(int rows, const std::vector<double>& values) {
  return fmt::format("%%MatrixMarket matrix array real general\n{} {}\n{}\n", rows,
                     values.size() / rows, fmt::join(values, "\n"));
}

std::vector<double> array_values(const std::string& text) {
  std::vector<double> values;
  std::istringstream lines(text);
  std::string line;
  bool sizes = false;
  while (std::getline(lines, line)) {
    if (line.starts_with('%')) continue;
    if (sizes) values.push_back(std::stod(line));
    sizes = true;
  }
  return values;
}

Entries arrow(int size) {
  Entries matrix{size, {}};
  for (int i = 0; i < size; ++i) {
    matrix.add(i, i, size);
    if (i + 1 < size) matrix.add(size - 1, i, -1);
  }
  return matrix;
}

Entries points_and_cameras(int points, int cameras) {
  Entries matrix{points + cameras, {}};
  for (int camera = 0; camera < cameras; ++camera)
    matrix.add(points + camera, points + camera, 10.0 * points);
  for (int point = 0; point < points; ++point) {
    matrix.add(point, point, 10);
    // Three different ones, without a pattern: Knuth's multiplicative hash.
    const auto first = static_cast<int>((point * 2654435761ULL >> 16) % cameras);
    const int step = 1 + point % (cameras / 3);
    for (int k = 0; k < 3; ++k)
      matrix.add(points + (first + k * step) % cameras, point, -1);
  }
  return matrix;
}

}  // namespace espalier::cli_test
