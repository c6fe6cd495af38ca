// The readers of sparse matrices and of right-hand sides.

#include <variant>

#include "fuzz/fuzz_target.h"
#include "solver/io/matrix_market.h"
#include "solver/io/rutherford_boeing.h"
#include "solver/io/vector_io.h"

namespace espalier::fuzz {
namespace {

template <class Matrix>
void check_arrays(const Matrix& each) {
  const auto size = static_cast<std::size_t>(each.size);
  require(each.column_start.size() == size + 1, "there are n + 1 starts");
  require(each.row.size() == each.value.size(), "every entry has a value");
  require(each.column_start.front() == 0, "the first column starts at 0");
  require(static_cast<std::size_t>(each.column_start.back()) == each.row.size(),
          "the last column ends at the end");
  for (std::size_t column = 0; column < size; ++column) {
    const auto first = static_cast<std::size_t>(each.column_start[column]);
    const auto last = static_cast<std::size_t>(each.column_start[column + 1]);
    require(first <= last, "columns follow each other");
    for (std::size_t k = first; k < last; ++k) {
      require(each.row[k] >= 0 && each.row[k] < each.size, "rows are in range");
      require(k == first || each.row[k - 1] < each.row[k], "rows increase");
    }
  }
}

void check(const solver::AnyMatrix& any) {
  if (const auto* matrix = std::get_if<solver::ComplexMatrix>(&any))
    check_arrays(*matrix);
  else
    std::visit([](const auto& each) { check_arrays(each); },
               std::get<solver::InputMatrix>(any));
}

void run_matrix_market(std::string_view bytes) {
  check(solver::read_any_matrix(MemoryFile(bytes).path()));
}

void run_rutherford_boeing(std::string_view bytes) {
  check(solver::read_any_rutherford_boeing(MemoryFile(bytes).path()));
}

void run_vectors(std::string_view bytes) {
  constexpr std::int64_t kRows = 3;
  const solver::DenseVectors vectors =
      solver::read_vectors(MemoryFile(bytes).path(), kRows);
  require(vectors.rows == kRows && vectors.columns >= 1, "vectors are as long as asked");
  require(vectors.values.size() == static_cast<std::size_t>(kRows * vectors.columns),
          "every entry has a value");
  const MemoryFile file("");
  solver::write_vectors(file.path(), vectors.values, kRows);
  require(solver::read_vectors(file.path(), kRows).values == vectors.values,
          "vectors that are written are read");
}

std::vector<std::string> matrix_market_seeds() {
  return {
      "%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 4\n1 1 2.0\n2 1 -1.0\n"
      "2 2 2\n3 3 1e-3\n",
      "%%MatrixMarket matrix coordinate pattern general\n2 2 3\n1 1\n2 2\n1 2\n",
      "%%MatrixMarket matrix coordinate integer skew-symmetric\n3 3 2\n2 1 4\n3 1 5\n",
      "%%MatrixMarket matrix coordinate complex hermitian\n2 2 2\n1 1 4 0\n2 1 5 1\n"};
}

std::vector<std::string_view> matrix_market_words() {
  return {"%%MatrixMarket",
          "matrix",
          "coordinate",
          "array",
          "real",
          "integer",
          "pattern",
          "complex",
          "general",
          "symmetric",
          "skew-symmetric",
          "hermitian",
          "%",
          "\n",
          " ",
          "0",
          "-1",
          "1e999",
          "nan",
          "2147483647",
          "2147483648",
          "\r\n",
          "1",
          "18446744073709551615"};
}

std::vector<std::string> rutherford_boeing_seeds() {
  const std::string title(72, 't');
  return {title +
              "key     \n             3             1             1             1\n"
              "rua                        2             2             3             0\n"
              "(26I3)          (26I3)          (4E20.12)           \n"
              "  1  3  4\n  1  2  2\n"
              "  4.000000000000E+00  1.000000000000E+00  3.000000000000E+00\n",
          title +
              "key     \n             2             1             1             0\n"
              "psa                        2             2             2             0\n"
              "(3I4)           (2I4)           \n   1   2   3\n   1   2\n",
          title +
              "key     \n             4             1             1             2"
              "             0\n"
              "rsa                        3             3             4             0\n"
              "(10I4)          (10I4)          (3D16.8)            (3D16.8)\n"
              "   1   3   4   5\n   1   2   2   3\n"
              "  1.00000000D+00  2.00000000D-01 -3.00000000D+00\n  4.00000000D+00\n"};
}

std::vector<std::string_view> rutherford_boeing_words() {
  return {"rua",    "rsa",       "pza",         "iua",        "rue",      "cua",
          "(26I3)", "(4E20.12)", "(1P,3D16.8)", "(0I3)",      "(I99999)", "\n",
          "    ",   "-1",        "1e999",       "2147483647", "0"};
}

std::vector<std::string> vectors_seeds() {
  return {"%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4.5\n-5e-3\n6\n",
          "%%MatrixMarket matrix coordinate real general\n3 2 3\n1 1 4\n2 2 4\n2 2 1\n"};
}

}  // namespace

Target matrix_market_target() {
  return {"matrix_market", matrix_market_seeds, matrix_market_words, run_matrix_market};
}
Target rutherford_boeing_target() {
  return {"rutherford_boeing", rutherford_boeing_seeds, rutherford_boeing_words,
          run_rutherford_boeing};
}
Target vectors_target() {
  return {"vectors", vectors_seeds, matrix_market_words, run_vectors};
}

}  // namespace espalier::fuzz
