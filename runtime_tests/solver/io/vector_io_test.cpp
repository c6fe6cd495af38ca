#include "solver/io/vector_io.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "espalier/model/error.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const std::string kBanner = "%%MatrixMarket matrix array real general\n";
const std::string kSparse = "%%MatrixMarket matrix coordinate real general\n";

TEST(VectorIo, GivesBackWhatWasWritten) {
  std::vector<double> values = {0, -0.0, 1.0 / 3, -1e300, 5e-324, 123456789, M_PI, 1e22};
  for (int k = 0; k < 200'000; ++k) values.push_back(std::sqrt(k));
  for (const char* suffix : {".mtx", ".mtx.gz"}) {
    const TemporaryFile file(suffix);
    write_vectors(file.path(), values, std::ssize(values) / 2);
    const DenseVectors back = read_vectors(file.path(), std::ssize(values) / 2);
    EXPECT_EQ(back.columns, 2);
    EXPECT_EQ(back.values, values);
  }
}

TEST(VectorIo, ReadsAnEmptyVector) {
  const TemporaryFile file(".mtx");
  write_vectors(file.path(), {}, 0);
  EXPECT_TRUE(read_vectors(file.path(), 0).values.empty());
}

TEST(VectorIo, ReadsSparseRightHandSides) {
  const TemporaryFile file(
      kSparse + "% two of them\n4 2 5\n3 2 5\n2 1 1\n\n2 1 2\n" + "4 1 3\n4 1 -3\n",
      ".mtx");
  const DenseVectors vectors = read_vectors(file.path(), 4);
  EXPECT_EQ(vectors.columns, 2);
  EXPECT_EQ(vectors.values, (std::vector<double>{0, 3, 0, 0, 0, 0, 5, 0}));
  EXPECT_EQ(vectors.rows_with_entries, (std::vector<std::int32_t>{1, 2}));
  const TemporaryFile none(kSparse + "3 1 0\n", ".mtx");
  EXPECT_EQ(read_vectors(none.path(), 3).values, std::vector<double>(3));
  EXPECT_TRUE(read_vectors(none.path(), 3).rows_with_entries.empty());
}

TEST(VectorIo, ReadsTheSameFromEitherFormat) {
  std::mt19937 random(1);
  const auto below = [&](int limit) {
    return std::uniform_int_distribution<int>(0, limit - 1)(random);
  };
  for (int instance = 0; instance < 60; ++instance) {
    const int rows = 1 + below(40), columns = 1 + below(6);
    // Some of several blocks of text.
    const int entries = instance == 0 ? 900'000 : below(80);
    std::string text = "%%MatrixMarket matrix coordinate integer general\n" +
                       std::to_string(rows) + " " + std::to_string(columns) + " " +
                       std::to_string(entries) + "\n";
    std::vector<double> values(static_cast<std::size_t>(rows) * columns);
    for (int k = 0; k < entries; ++k) {
      const int row = below(rows), column = below(columns), value = below(9) - 4;
      values[row + static_cast<std::size_t>(column) * rows] += value;
      text += std::to_string(row + 1) + " " + std::to_string(column + 1) + " " +
              std::to_string(value) + "\n";
    }
    const TemporaryFile sparse(text, ".mtx"), dense(".mtx.gz");
    write_vectors(dense.path(), values, rows);
    const DenseVectors first = read_vectors(sparse.path(), rows);
    const DenseVectors second = read_vectors(dense.path(), rows);
    ASSERT_EQ(first.values, values);
    ASSERT_EQ(second.values, values);
    ASSERT_EQ(first.columns, columns);
    ASSERT_EQ(first.rows_with_entries, second.rows_with_entries);
    for (const std::int32_t row : first.rows_with_entries) {
      bool entry = false;
      for (int c = 0; c < columns; ++c)
        entry = entry || values[row + static_cast<std::size_t>(c) * rows] != 0;
      ASSERT_TRUE(entry) << "row " << row;
    }
  }
}

struct Fault {
  std::string text;
  std::int64_t line;
  std::string words;
};

void expect_faults(const std::vector<Fault>& faults) {
  for (const Fault& each : faults) {
    const TemporaryFile file(each.text, ".mtx");
    try {
      (void)read_vectors(file.path(), 2);
      ADD_FAILURE() << "accepted: " << each.text;
    } catch (const FileError& error) {
      EXPECT_EQ(error.line(), each.line) << error.what();
      EXPECT_NE(std::string(error.what()).find(each.words), std::string::npos)
          << error.what();
    }
  }
}

TEST(VectorIo, NamesTheFaultAndItsLine) {
  expect_faults({
      {"", 0, "empty"},
      {"%%MatrixMarket matrix array complex general\n2 1\n1 0\n1 0\n", 1,
       "complex right-hand side, of a real matrix"},
      {"%%MatrixMarket matrix coordinate real symmetric\n2 1 0\n", 1, "right-hand side"},
      {"%%MatrixMarket matrix coordinate pattern general\n2 1 0\n", 1, "pattern"},
      {kSparse + "3 1 0\n", 2, "3 x 1"},
      {kSparse + "2 0 0\n", 2, "2 x 0"},
      {kSparse + "2 1\n", 2, "size line"},
      {kSparse + "2 3000000000 1\n1 1 1\n", 2, "more than 2^31 - 1"},
      {kSparse + "2 102 1\n1 1 1\n", 2, "most are empty"},
      {kSparse + "2 1 9999\n1 1 1\n", 2, "too short"},
      {kSparse + "2 1 2\n1 1 1\n", 4, "ends after 1 of 2"},
      {kSparse + "2 1 1\n1 1 1\n% comment\n2 1 1\n", 5, "more than the 1"},
      {kSparse + "2 1 1\n3 1 1\n", 3, "row 3 is outside 1 … 2"},
      {kSparse + "2 1 1\n0 1 1\n", 3, "row 0 is outside 1 … 2"},
      {kSparse + "2 1 1\n1 2 1\n", 3, "column 2 is outside 1 … 1"},
      {kSparse + "2 5 2\n1 5 1\n3 1 1\n", 4, "row 3 is outside 1 … 2"},
      {kSparse + "2 1 1\n1 1 x\n", 3, "malformed value 'x'"},
      {kSparse + "2 1 1\n1 1\n", 3, "missing"},
      {kSparse + "2 1 2\n1 1 1e308\n1 1 1e308\n", 4, "(1, 1) is outside the range"},
  });
}

TEST(VectorIo, NamesTheFaultOfAnArrayAndItsLine) {
  expect_faults({
      {kBanner + "3 1\n1\n2\n3\n", 2, "3 x 1"},
      {kBanner + "2 0\n", 2, "2 x 0"},
      {kBanner + "2\n1\n2\n", 2, "size line"},
      {kBanner + "2 1\n1\n", 4, "ends after 1 of 2"},
      {kBanner + "2 1\n1\n2\n\n% comment\n3\n", 7, "more than the 2"},
      {kBanner + "2 1\n1\nx\n", 4, "malformed value 'x'"},
      {kBanner + "2 1\n1\n2 3\n", 4, "one value"},
      {kBanner + "2 1\n1\nnan\n", 4, "not finite"},
      {kBanner + "2 1\n1\n-inf\n", 4, "not finite"},
      {kBanner + "2 1\n1\n1e999\n", 4, "outside the range"},
      {kBanner + "2 99999999999\n1\n", 2, "too short"},
  });
}

TEST(VectorIo, SaysWhenItCannotWrite) {
  EXPECT_THROW(write_vectors("/nowhere/x.mtx", std::vector<double>{1}, 1), FileError);
  EXPECT_THROW(write_vectors(testing::TempDir(), std::vector<double>{1}, 1), FileError);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_THROW(write_vectors("/dev/full", std::vector<double>(9, 1), 9), FileError);
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
