// One file format, what is read and every fault of it: over 300 lines.

#include "solver/io/matrix_market.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <iomanip>
#include <sstream>

#include "espalier/model/error.h"
#include "solver/matrix/grid.h"
#include "solver/support/random_matrices.h"
#include "solver/support/temporary_file.h"

namespace espalier::solver {
namespace TEST_SOURCE {

const std::string kSymmetric = "%%MatrixMarket matrix coordinate real symmetric\n";
const std::string kGeneral = "%%MatrixMarket matrix coordinate real general\n";

SymmetricMatrix read_text(const std::string& text) {
  return read_matrix_market(TemporaryFile(text, ".mtx").path());
}

void expect_equal(const SymmetricMatrix& a, const SymmetricMatrix& b) {
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.column_start, b.column_start);
  EXPECT_EQ(a.row, b.row);
  EXPECT_EQ(a.value, b.value);
}

// The text of a matrix; both triangles if general; entries shuffled if asked for.
std::string text_of(const SymmetricMatrix& a, bool general, std::mt19937* shuffle) {
  std::vector<std::string> lines;
  for (std::int32_t column = 0; column < a.size; ++column) {
    for (auto at = a.column_start[column]; at < a.column_start[column + 1]; ++at) {
      const auto add = [&](std::int32_t i, std::int32_t j) {
        std::ostringstream line;
        line << i + 1 << ' ' << j + 1 << ' ' << std::setprecision(17) << a.value[at]
             << '\n';
        lines.push_back(line.str());
      };
      add(a.row[at], column);
      if (general && a.row[at] != column) add(column, a.row[at]);
    }
  }
  if (shuffle) std::shuffle(lines.begin(), lines.end(), *shuffle);
  std::ostringstream text;
  text << (general ? kGeneral : kSymmetric) << "% a comment\n\n"
       << a.size << ' ' << a.size << ' ' << lines.size() << '\n';
  for (const std::string& line : lines) text << line;
  return text.str();
}

TEST(MatrixMarket, ReadsTheLowerTriangleInAnyOrder) {
  const SymmetricMatrix a = read_text(
      "%%matrixMARKET Matrix Coordinate Real SYMMETRIC\r\n%\n  \n3 3 4\r\n"
      "3 1 -2.5e0\r\n% between\n\n 2\t2  +4 \n1 1 .5\n3 3 1E+2");
  expect_equal(a, {3, {0, 2, 3, 4}, {0, 2, 1, 2}, {0.5, -2.5, 4, 100}});
}

TEST(MatrixMarket, TakesTheUpperTriangleOfASymmetricFile) {
  expect_equal(read_text(kSymmetric + "2 2 3\n1 1 1\n1 2 2\n2 2 3\n"),
               {2, {0, 2, 3}, {0, 1, 1}, {1, 2, 3}});
}

TEST(MatrixMarket, AddsUpEntriesGivenTwice) {
  expect_equal(read_text(kSymmetric + "2 2 5\n2 1 1\n1 1 1\n2 1 2\n2 2 3\n2 1 4\n"),
               {2, {0, 2, 3}, {0, 1, 1}, {1, 7, 3}});
  expect_equal(read_text(kGeneral + "2 2 4\n2 1 1\n1 2 3\n2 1 2\n1 1 0\n"),
               {2, {0, 2, 2}, {0, 1}, {0, 3}});
}

TEST(MatrixMarket, GivesAPatternTheValueOne) {
  expect_equal(read_text("%%MatrixMarket matrix coordinate pattern symmetric\n2 2 2\n"
                         "1 1\n2 1\n"),
               {2, {0, 2, 2}, {0, 1}, {1, 1}});
}

TEST(MatrixMarket, ReadsIntegers) {
  expect_equal(read_text("%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n"
                         "1 1 -7\n"),
               {1, {0, 1}, {0}, {-7}});
}

TEST(MatrixMarket, ReadsEmptyMatrices) {
  expect_equal(read_text(kSymmetric + "0 0 0\n"), {0, {0}, {}, {}});
  expect_equal(read_text(kSymmetric + "2 2 0\n"), {2, {0, 0, 0}, {}, {}});
}

TEST(MatrixMarket, ReadsSubnormalValues) {
  EXPECT_EQ(read_text(kSymmetric + "1 1 1\n1 1 0e-400\n").value[0], 0);
  EXPECT_EQ(read_text(kSymmetric + "1 1 1\n1 1 4.9e-324\n").value[0], 4.9e-324);
}

TEST(MatrixMarket, GivesBackRandomMatrices) {
  std::mt19937 random(8);
  for (int instance = 0; instance < 300; ++instance) {
    const SymmetricMatrix a = random_matrix(random, 20);
    const bool general = instance % 2;
    SCOPED_TRACE(describe(a));
    expect_equal(read_text(text_of(a, general, instance % 3 ? &random : nullptr)), a);
    if (HasFailure()) return;
  }
}

TEST(MatrixMarket, ReadsTheSameWithAnyNumberOfThreads) {
  std::mt19937 random(9);
  const SymmetricMatrix a = make_grid({120, 120, 15});  // 11 MB: several blocks
  const TemporaryFile plain(text_of(a, false, nullptr), ".mtx");
  const TemporaryFile shuffled(text_of(a, false, &random), ".mtx");
  const int threads = omp_get_max_threads();
  for (int count : {1, 2, 5}) {
    omp_set_num_threads(count);
    expect_equal(read_matrix_market(plain.path()), a);
    expect_equal(read_matrix_market(shuffled.path()), a);
  }
  omp_set_num_threads(threads);
}

TEST(MatrixMarket, FindsTheLineOfAFaultInALargeFile) {
  const std::string text = text_of(make_grid({300, 300, 1}), false, nullptr);
  for (const double part : {0.2, 0.5, 0.999}) {
    const auto place =
        text.find('\n',
                  static_cast<std::size_t>(part * static_cast<double>(text.size()))) +
        1;
    const auto line = std::count(text.begin(), text.begin() + place, '\n') + 1;
    std::string broken = text;
    broken.insert(place, "1 1 oops\n1 zwei 3\n");
    try {
      read_text(broken);
      FAIL();
    } catch (const FileError& error) {
      EXPECT_EQ(error.line(), line) << error.what();
    }
  }
}

TEST(MatrixMarket, ReadsGzipWhateverItsName) {
  const SymmetricMatrix a = make_grid({20, 20, 1});
  for (const char* suffix : {".mtx.gz", ".mtx"}) {
    const TemporaryFile file(suffix);
    file.compress(text_of(a, false, nullptr));
    expect_equal(read_matrix_market(file.path()), a);
  }
  expect_equal(
      read_matrix_market(TemporaryFile(text_of(a, false, nullptr), ".mtx.gz").path()), a);
}

TEST(MatrixMarket, RefusesGzipThatIsCutOffAnywhereOrDamaged) {
  const TemporaryFile whole(".gz");
  whole.compress(text_of(make_grid({12, 12, 1}), false, nullptr));
  const std::string bytes = whole.bytes();
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const TemporaryFile cut(std::string_view(bytes).substr(0, length), ".gz");
    ASSERT_THROW((void)read_matrix_market(cut.path()), FileError) << length << " bytes";
  }
  std::string damaged = bytes;
  damaged[damaged.size() - 6] ^= 1;  // the checksum
  EXPECT_THROW((void)read_matrix_market(TemporaryFile(damaged, ".gz").path()), FileError);
}

struct Fault {
  std::string text;
  std::int64_t line;
  std::string words;
};

void expect_fault(const Fault& fault) {
  const TemporaryFile file(fault.text, ".mtx");
  try {
    (void)read_matrix_market(file.path());
    ADD_FAILURE() << "accepted: " << fault.text;
  } catch (const FileError& error) {
    EXPECT_EQ(error.line(), fault.line) << error.what();
    EXPECT_NE(std::string(error.what()).find(fault.words), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find(file.path()), std::string::npos);
  }
}

TEST(MatrixMarket, NamesTheFaultOfAHeader) {
  const std::string banner = "%%MatrixMarket matrix ";
  const Fault faults[] = {
      {"", 0, "empty"},
      {"\n", 1, "not a Matrix Market file"},
      {"1 1 1\n1 1 1\n", 1, "not a Matrix Market file"},
      {std::string("\0\1\2", 3), 1, "not a Matrix Market file"},
      {"%%MatrixMarket matrix coordinate real\n", 1, "not a Matrix Market file"},
      {"%%MatrixMarket vector coordinate real general\n", 1, "'vector'"},
      {banner + "sparse real general\n1 1 1\n", 1, "'sparse'"},
      {banner + "array real general\n1 1\n1\n", 1, "array real general"},
      {banner + "coordinate complex symmetric\n1 1 1\n1 1 1 0\n", 1, "complex"},
      {banner + "coordinate complex hermitian\n1 1 1\n1 1 1 0\n", 1, "hermitian"},
      {banner + "coordinate real skew-symmetric\n1 1 0\n", 1, "skew-symmetric"},
      {kSymmetric, 2, "before its size line"},
      {kSymmetric + "% only\n\n", 4, "before its size line"},
      {kSymmetric + "2 2\n", 2, "size line"},
      {kSymmetric + "%\n2 2 1 1\n", 3, "too many"},
      {kSymmetric + "2 2 1.5\n", 2, "'1.5' is not a number"},
      {kSymmetric + "two 2 1\n", 2, "'two' is not a number"},
      {kSymmetric + "-2 -2 1\n", 2, "-2 < 0"},
      {kSymmetric + "2 2 -1\n", 2, "-1 < 0"},
      {kSymmetric + "2 3 1\n1 1 1\n", 2, "2 x 3: not square"},
      {kSymmetric + "2147483647 2147483647 0\n", 2, "most rows are empty"},
      {kSymmetric + "2147483648 2147483648 1\n1 1 1\n", 2, "2^31 - 1"},
      {kSymmetric + "99999999999999999999 1 1\n", 2, "is not a number"},
      {kSymmetric + "2 2 999999999999\n1 1 1\n", 2, "too short"},
  };
  for (const Fault& fault : faults) expect_fault(fault);
}

// Of C's isspace(), between numbers as after them.
TEST(MatrixMarket, TakesAnyBlankBetweenNumbers) {
  expect_equal(read_text(kSymmetric + "2\v2\f2\r\n1\v1\f4\r\n \v2 \t2\v\f5\v\n"),
               {2, {0, 1, 2}, {0, 1}, {4, 5}});
}

TEST(MatrixMarket, ReadsExponentsAsFortranWritesThem) {
  expect_equal(
      read_text(kSymmetric + "5 5 5\n1 1 1.5D+03\n2 2 -2d-2\n3 3 .25-100\n"
                             "4 4 +4.0+000\n5 5 1D3\n"),
      {5, {0, 1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}, {1500, -0.02, 2.5e-101, 4, 1000}});
  expect_fault({"%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1D3\n", 3,
                "'1D3' is not an integer"});
}

TEST(MatrixMarket, ReadsEntriesHoweverTheyAreSetApart) {
  const std::array values = {"0",
                             "-0.0",
                             "+7",
                             "1.5",
                             ".25",
                             "-3.",
                             "1e3",
                             "-2E-300",
                             "4.9e-324",
                             "1.7976931348623157e308",
                             "0.1",
                             "1e-400",
                             "12345678901234567890.5"};
  const std::array gaps = {" ", "\t", "   ", " \t "};
  const std::array ends = {"\n", "\r\n", " \n", "\t\r\n", "\v\n"};
  std::mt19937 random(7);
  const auto any = [&](const auto& of) { return of[random() % of.size()]; };
  for (int round = 0; round < 400; ++round) {
    const std::string value = any(values);
    const std::string line = (random() % 3 == 0 ? any(gaps) : std::string()) + "2" +
                             any(gaps) + "1" + any(gaps) + value + any(ends);
    const std::string text = kSymmetric + "2 2 2\n1 1 3\n" + line;
    if (value == "1e-400") {
      expect_fault({text, 4, "outside the range"});
      continue;
    }
    expect_equal(read_text(text),
                 {2, {0, 2, 2}, {0, 1}, {3, std::strtod(value.c_str(), nullptr)}});
  }
}

TEST(MatrixMarket, NamesTheFaultOfAnEntry) {
  const std::string head = kSymmetric + "% c\n3 3 3\n1 1 4\n";  // 4 lines
  const std::string tail = "\n3 3 4\n";
  const Fault faults[] = {
      {head + "2" + tail, 5, "the column is missing"},
      {head + "2 2" + tail, 5, "the value is missing"},
      {head + "2 2 4 4" + tail, 5, "'4' after the entry's last field"},
      {head + "2 2 4\r5" + tail, 5, "'5' after the entry's last field"},
      {head + "2 2 4," + tail, 5, "malformed value '4,'"},
      {head + "+2 2 4" + tail, 5, "malformed row '+2'"},
      {head + "x 2 4" + tail, 5, "malformed row 'x'"},
      {head + "2 2.0 4" + tail, 5, "malformed column '2.0'"},
      {head + "2 2 4x" + tail, 5, "malformed value '4x'"},
      {head + "2 2 0x10" + tail, 5, "malformed value '0x10'"},
      {head + "2 2 --4" + tail, 5, "malformed value '--4'"},
      {head + "2 2 1+2" + tail, 5, "malformed value '1+2'"},
      {head + "2 2 1e5d3" + tail, 5, "malformed value '1e5d3'"},
      {head + "2 2 D3" + tail, 5, "malformed value 'D3'"},
      {head + "2 2 1.0D" + tail, 5, "malformed value '1.0D'"},
      {head + "2 2 -1D400" + tail, 5, "value '-1D400' is outside the range"},
      {head + "2 2 nan" + tail, 5, "not finite"},
      {head + "2 2 -Inf" + tail, 5, "not finite"},
      {head + "2 2 1e400" + tail, 5, "outside the range of a double"},
      {head + "2 2 -1e-400" + tail, 5, "'-1e-400' is outside the range of a double"},
      {head + "0 2 4" + tail, 5, "row 0 is outside 1 … 3"},
      {head + "-1 2 4" + tail, 5, "row -1 is outside"},
      {head + "4 2 4" + tail, 5, "row 4 is outside"},
      {head + "2 4 4" + tail, 5, "column 4 is outside"},
      {head + "2 9999999999999999999999 4" + tail, 5, "is outside"},
      {head + "\n%\n2 2 y" + tail, 7, "malformed value 'y'"},
      {head + "2 2 4\n", 6, "ends after 2 of 3"},
      {head + "2 2 4\n3 3 4\n%\n3 3 1\n", 8, "more than the 3"},
      {head + "2 1 4\n1 3 1\n", 6, "entry (1, 3) is in the upper triangle"},
      {head + "1 3 4\n2 1 1\n", 6, "entry (2, 1) is in the lower triangle"},
      {"%%MatrixMarket matrix coordinate integer symmetric\n1 1 1\n1 1 1.5\n", 3,
       "'1.5' is not an integer"},
      {"%%MatrixMarket matrix coordinate pattern symmetric\n1 1 1\n1 1 1\n", 3,
       "after the entry's last field"},
  };
  for (const Fault& fault : faults) expect_fault(fault);
}

TEST(MatrixMarket, NamesThePairThatIsNotSymmetric) {
  expect_fault({kGeneral + "3 3 4\n1 1 1\n2 1 5\n3 3 1\n1 2 6\n", 6,
                "not symmetric: (2, 1) is 5 (line 4), (1, 2) is 6 (line 6)"});
  expect_fault({kGeneral + "2 2 2\n1 1 1\n1 2 6\n", 4,
                "not symmetric: (2, 1) is not given, (1, 2) is 6 (line 4)"});
  expect_fault({kGeneral + "2 2 2\n1 1 1\n2 1 6\n", 4, "(1, 2) is not given"});
}

TEST(MatrixMarket, TakesAZeroForAnEntryThatIsNotGiven) {
  expect_equal(read_text(kGeneral + "2 2 2\n1 1 1\n2 1 0\n"),
               {2, {0, 2, 2}, {0, 1}, {1, 0}});
}

TEST(MatrixMarket, SaysWhatIsWrongWithAPath) {
  try {
    (void)read_matrix_market("/nowhere/a.mtx");
    FAIL();
  } catch (const FileError& error) {
    EXPECT_STREQ(error.what(), "/nowhere/a.mtx: no such file");
  }
  EXPECT_THROW((void)read_matrix_market(testing::TempDir()), FileError);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::solver
