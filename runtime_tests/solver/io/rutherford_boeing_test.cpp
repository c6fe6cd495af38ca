#include "solver/io/rutherford_boeing.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <random>
#include <string>
#include <variant>
#include <vector>

#include "espalier/model/error.h"
#include "solver/io/matrix_market.h"
#include "solver/support/random_matrices.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const std::string kTitle = std::string(72, 't') + "key     \n";

// 1 . 4
// 2 3 .     columns: (0) 1 (1) 2, (1) 3, (0) 4
// . . .
const std::string kUnsymmetric =
    kTitle +
    "             3             1             1             1\n"
    "rua                        3             3             "
    "4             0\n"
    "(4I2)           (5I1)           (1P,4D8.1)          \n"
    " 1 3 4 5\n"
    "1221\n"
    " 1.0D+00 2.0D+00  3.0    +0.4E1\n";

InputMatrix read_text(const std::string& text, const std::string& suffix = ".rb") {
  return read_matrix(TemporaryFile(text, suffix).path());
}

std::string replaced(std::string text, const std::string& what, const std::string& with) {
  const auto at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return text.replace(at, what.size(), with);
}

TEST(RutherfordBoeing, ReadsFieldsThatTouchInFixedColumns) {
  const auto general = std::get<GeneralMatrix>(read_text(kUnsymmetric));
  EXPECT_EQ(general.column_start, (std::vector<std::int64_t>{0, 2, 3, 4}));
  EXPECT_EQ(general.row, (std::vector<std::int32_t>{0, 1, 1, 0}));
  EXPECT_EQ(general.value, (std::vector<double>{1, 2, 3, 4}));
}

TEST(RutherfordBoeing, ReadsPatternsAndSymmetricMatricesOfTheOlderFormat) {
  const std::string text = kTitle +
                           "   6   1   1   0   2\n"
                           "PSA   2   2   3   0\n"
                           "(8I3) (8I3)\n"
                           "F 1 0\n"
                           "  1  3  4\n"
                           "  1  2  2\n"
                           "right-hand side\n";
  for (const char* suffix : {".psa", ".RB"}) {
    const auto matrix = std::get<SymmetricMatrix>(read_text(text, suffix));
    EXPECT_EQ(matrix.column_start, (std::vector<std::int64_t>{0, 2, 3}));
    EXPECT_EQ(matrix.row, (std::vector<std::int32_t>{0, 1, 1}));
    EXPECT_EQ(matrix.value, (std::vector<double>{1, 1, 1}));
  }
  const TemporaryFile gzip(".psa.gz");
  gzip.compress(text);
  EXPECT_EQ(std::get<SymmetricMatrix>(read_matrix(gzip.path())).row.size(), 3);
}

TEST(RutherfordBoeing, ExpandsSkewSymmetricMatrices) {
  const auto matrix = std::get<GeneralMatrix>(
      read_text(kTitle + "3 1 1 1\nrza 2 2 1 0\n(3I2) (1I2) (1F4.1)\n"
                         " 1 2 2\n 2\n 2.5\n"));
  EXPECT_EQ(matrix.value, (std::vector<double>{2.5, -2.5}));
}

TEST(RutherfordBoeing, GivesBackRandomMatrices) {
  std::mt19937 random(40);
  for (int instance = 0; instance < 200; ++instance) {
    const SymmetricMatrix a = random_matrix(random, 20);
    std::string pointers, rows, values;
    const auto field = [](std::int64_t number, std::size_t width, bool last) {
      const std::string digits = std::to_string(number);
      return std::string(width - digits.size(), ' ') + digits + (last ? "\n" : "");
    };
    for (std::size_t k = 0; k < a.column_start.size(); ++k) {
      pointers +=
          field(a.column_start[k] + 1, 5, k % 3 == 2 || k + 1 == a.column_start.size());
    }
    for (std::size_t k = 0; k < a.row.size(); ++k) {
      rows += field(a.row[k] + 1, 4, k % 7 == 6);
      char text[32];
      std::snprintf(text, sizeof(text), "%25.17E", a.value[k]);
      values += text;
      values += k % 2 == 1 ? "\n" : "";
    }
    const std::string text = kTitle + "9 9 9 9\nrsa " + std::to_string(a.size) + " " +
                             std::to_string(a.size) + " " + std::to_string(a.row.size()) +
                             " 0\n(3I5) (7I4) (2E25.17)\n" + pointers + rows +
                             (rows.empty() || rows.back() == '\n' ? "" : "\n") + values;
    const auto matrix = std::get<SymmetricMatrix>(read_text(text));
    ASSERT_EQ(matrix.column_start, a.column_start) << text;
    ASSERT_EQ(matrix.row, a.row) << text;
    ASSERT_EQ(matrix.value, a.value) << text;
  }
}

TEST(RutherfordBoeing, NamesWhatIsWrong) {
  const auto expect = [](const std::string& what, const std::string& with,
                         const std::string& message) {
    try {
      static_cast<void>(read_text(replaced(kUnsymmetric, what, with)));
      ADD_FAILURE() << with;
    } catch (const FileError& error) {
      EXPECT_NE(std::string(error.what()).find(message), std::string::npos)
          << error.what();
    }
  };
  expect("rua", "cua", "only real");
  expect("rua", "rue", "only assembled");
  expect("rua", "rra", "not square");
  expect("3             3", "3             2", "3 x 2: not square");
  expect(" 1 3 4 5", " 1 4 3 5", ":5: pointer 3: 3 after 4");
  expect(" 1 3 4 5", " 1 3 4 4", "of 4 entries");
  expect("1221", "1241", ":6: row '4': expected 1 … 3");
  expect("1221", "12x1", "row 'x'");
  expect("2.0D+00", "2.0X+00", ":7: malformed value");
  expect("  3.0    +0.4E1\n", "", "field 3 of the line");
  expect("1221\n 1.0D+00 2.0D+00  3.0    +0.4E1\n", "1221\n", "ends too early");
  expect("(4I2)", "(4A2)", "format '(4A2)'");
  expect("4             0", "9999999999    0", "too large");
}

TEST(RutherfordBoeing, ReadsOrRefusesDamagedFiles) {
  constexpr char kBytes[] = "0123456789 -.()IPEDz\n";
  std::mt19937 random(41);
  int refused = 0;
  for (int instance = 0; instance < 1500; ++instance) {
    std::string text = kUnsymmetric;
    for (int change = 0; change <= instance % 3; ++change) {
      text[kTitle.size() + random() % (text.size() - kTitle.size())] =
          kBytes[random() % (sizeof(kBytes) - 1)];
    }
    if (instance % 5 == 0) text.resize(random() % text.size());
    try {
      const InputMatrix matrix = read_text(text);
      ASSERT_GE(order_of(matrix), 0) << text;
    } catch (const FileError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
  EXPECT_LT(refused, 1500);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
