#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <sstream>
#include <string>
#include <variant>
#include <vector>

#include "espalier/model/error.h"
#include "solver/io/matrix_market.h"
#include "solver/support/temporary_file.h"
#include "support/error_message.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const std::string kBanner = "%%MatrixMarket matrix coordinate ";

InputMatrix read_text(const std::string& text) {
  return read_matrix(TemporaryFile(kBanner + text, ".mtx").path());
}

std::string message_for(const std::string& text) {
  return support::error_message<FileError>([&] { return read_text(text); });
}

void expect_general(const InputMatrix& matrix, const GeneralMatrix& expected) {
  ASSERT_TRUE(std::holds_alternative<GeneralMatrix>(matrix));
  const auto& general = std::get<GeneralMatrix>(matrix);
  EXPECT_EQ(general.size, expected.size);
  EXPECT_EQ(general.column_start, expected.column_start);
  EXPECT_EQ(general.row, expected.row);
  EXPECT_EQ(general.value, expected.value);
}

TEST(ReadMatrix, KeepsAnUnsymmetricMatrix) {
  // 1 2 .
  // . 5 .
  // 7 . .
  expect_general(read_text("real general\n3 3 5\n3 1 4\n2 2 5\n1 1 1\n1 2 2\n3 1 3\n"),
                 {3, {0, 2, 4, 4}, {0, 2, 0, 1}, {1, 7, 2, 5}});
}

TEST(ReadMatrix, TurnsEqualTrianglesIntoASymmetricMatrix) {
  const InputMatrix matrix = read_text("integer general\n2 2 3\n2 1 4\n1 2 4\n1 1 9\n");
  ASSERT_TRUE(std::holds_alternative<SymmetricMatrix>(matrix));
  EXPECT_EQ(std::get<SymmetricMatrix>(matrix).value, (std::vector<double>{9, 4}));
  EXPECT_TRUE(std::holds_alternative<SymmetricMatrix>(
      read_text("real symmetric\n2 2 1\n2 1 1.5\n")));
  EXPECT_TRUE(
      std::holds_alternative<SymmetricMatrix>(read_text("real general\n0 0 0\n")));
}

TEST(ReadMatrix, ExpandsASkewSymmetricMatrixGivenByEitherTriangle) {
  const GeneralMatrix expected{3, {0, 1, 3, 4}, {1, 0, 2, 1}, {2, -2, -3, 3}};
  expect_general(read_text("real skew-symmetric\n3 3 2\n2 1 2\n3 2 -3\n"), expected);
  expect_general(read_text("real skew-symmetric\n3 3 2\n2 3 3\n1 2 -2\n"), expected);
}

TEST(ReadMatrix, SaysWhatItDoesNotRead) {
  EXPECT_NE(message_for("complex general\n1 1 1\n1 1 1 0\n").find("only real"),
            std::string::npos);
  EXPECT_NE(message_for("complex hermitian\n1 1 1\n1 1 1 0\n").find("only real"),
            std::string::npos);
  EXPECT_NE(message_for("real general\n2 3 0\n").find("2 x 3: not square"),
            std::string::npos);
  EXPECT_NE(message_for("real skew-symmetric\n2 2 1\n2 2 1\n").find(":3: entry (2, 2)"),
            std::string::npos);
  EXPECT_NE(message_for("real skew-symmetric\n2 2 2\n2 1 1\n1 2 1\n")
                .find("skew-symmetric file gives one"),
            std::string::npos);
  EXPECT_NE(message_for("real triangular\n1 1 0\n").find("'skew-symmetric' or"),
            std::string::npos);
}

TEST(ReadMatrix, NamesTheEntryWhoseValuesAddUpToNoNumber) {
  const std::string message =
      message_for("real general\n2 2 3\n1 1 3\n2 1 1e308\n2 1 1e308\n");
  EXPECT_NE(message.find(".mtx: the sum of the values at (2, 1) is outside the range"),
            std::string::npos)
      << message;
}

// Of a file that is open, as a pipe is, likewise.
TEST(ReadMatrix, ChecksTheSumsOfATextThatIsOpen) {
  const TemporaryFile file(
      "%%MatrixMarket matrix coordinate real general\n1 1 2\n1 1 1e308\n1 1 1e308\n",
      ".mtx");
  EXPECT_THROW((void)read_matrix(TextReader(file.path())), FileError);
}

TEST(ReadMatrix, GivesBackRandomMatricesInAnyOrderOfEntries) {
  std::mt19937 random(5);
  for (int instance = 0; instance < 300; ++instance) {
    const int size = 1 + instance % 12;
    std::vector<double> dense(size * size, 0.0);
    std::vector<int> places;
    for (int k = 0; k < size * size; ++k) {
      if (random() % 3 == 0) places.push_back(k);
    }
    std::shuffle(places.begin(), places.end(), random);
    std::ostringstream text;
    text << "real general\n" << size << ' ' << size << ' ' << places.size() << '\n';
    for (int k : places) {
      dense[k] = 1 + static_cast<int>(random() % 100);
      text << k / size + 1 << ' ' << k % size + 1 << ' ' << dense[k] << '\n';
    }
    const InputMatrix matrix = read_text(text.str());
    if (std::holds_alternative<SymmetricMatrix>(matrix)) continue;  // by chance
    const auto& general = std::get<GeneralMatrix>(matrix);
    ASSERT_EQ(general.row.size(), places.size()) << text.str();
    for (std::int32_t column = 0; column < size; ++column) {
      for (auto at = general.column_start[column]; at < general.column_start[column + 1];
           ++at) {
        ASSERT_EQ(general.value[at], dense[general.row[at] * size + column])
            << text.str();
        if (at > general.column_start[column]) {
          ASSERT_LT(general.row[at - 1], general.row[at]) << text.str();
        }
      }
    }
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
