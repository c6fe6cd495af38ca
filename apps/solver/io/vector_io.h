#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "solver/matrix/complex_matrix.h"

namespace espalier::solver {

/// Dense vectors of equal length, one after the other.
struct DenseVectors {
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::vector<double> values;  ///< rows * columns, by columns
  /// Rows in which some vector is not zero, increasing: a forward elimination needs no
  /// others but those above them in the tree.
  std::vector<std::int32_t> rows_with_entries;
};

/// Reads right-hand sides from a Matrix Market file, plain or gzip, of `rows` rows and at
/// least one column: "matrix array real general", or "matrix coordinate real general" for
/// sparse ones, whose entries may come in any order and are summed where one is given
/// twice. Or integer.
///
/// @throws FileError naming the line for anything else, for NaN and infinities too
[[nodiscard]] DenseVectors read_vectors(const std::string& path, std::int64_t rows);

/// The same for vectors of complex numbers, field complex with two values on each line,
/// or real ones, whose imaginary parts are 0.
///
/// @return vectors of 2 rows real numbers, real and imaginary parts in turn
[[nodiscard]] DenseVectors read_complex_vectors(const std::string& path,
                                                std::int64_t rows);

/// Writes the same format, each value with the digits that give it back exactly;
/// compressed when the name ends in ".gz".
///
/// @throws FileError when the file cannot be written in full
void write_vectors(const std::string& path, std::span<const double> values,
                   std::int64_t rows);
/// As "matrix array complex general".
void write_complex_vectors(const std::string& path, std::span<const Complex> values,
                           std::int64_t rows);

}  // namespace espalier::solver
