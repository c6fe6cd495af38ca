#include "solver/vector_io.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "espalier/model/error.h"
#include "temporary_file.h"

namespace espalier::solver {
namespace {

const std::string kBanner = "%%MatrixMarket matrix array real general\n";

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

TEST(VectorIo, NamesTheFaultAndItsLine) {
  struct Case {
    std::string text;
    std::int64_t line;
    std::string words;
  };
  const Case cases[] = {
      {"", 0, "empty"},
      {"%%MatrixMarket matrix array complex general\n2 1\n1 0\n1 0\n", 0,
       "array complex"},
      {"%%MatrixMarket matrix coordinate real general\n2 1 0\n", 0, "right-hand side"},
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
  };
  for (const Case& each : cases) {
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

TEST(VectorIo, SaysWhenItCannotWrite) {
  EXPECT_THROW(write_vectors("/nowhere/x.mtx", std::vector<double>{1}, 1), FileError);
  EXPECT_THROW(write_vectors(testing::TempDir(), std::vector<double>{1}, 1), FileError);
  if (std::filesystem::exists("/dev/full")) {
    EXPECT_THROW(write_vectors("/dev/full", std::vector<double>(9, 1), 9), FileError);
  }
}

}  // namespace
}  // namespace espalier::solver
