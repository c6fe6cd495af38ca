#pragma once

#include <string>

#include "solver/matrix/general_matrix.h"
#include "solver/matrix/sparse_matrix.h"

namespace espalier::solver {

/// Reads a real symmetric matrix from a Matrix Market file, plain or gzip.
///
///   %%MatrixMarket matrix coordinate real symmetric      banner, letters in any case
///   % a comment                                          anywhere; so are empty lines
///   3 3 4                                                rows, columns, entries
///   1 1  2.0                                             row, column, value; from 1
///   2 1 -1.0
///   …
///
/// - Field real or integer; pattern: every value is 1.
/// - symmetric: one triangle is given, either; entries off the diagonal in both triangles
///   are an error. general: both are given and must be equal, value by value.
/// - An entry given several times is the sum of its values. A given zero is kept as part
///   of the pattern.
/// - The entries must be as many as announced, finite and inside the matrix; the order at
///   most 2^31 - 1, and at most a million more than the entries can cover.
///
/// @throws FileError naming the line for everything else, the first fault of the file
/// @par Cost  O(text), lines parsed in parallel by OpenMP's threads; the result does not
///            depend on their number
/// @par Memory  16 bytes an entry while reading and 24 while sorting when the file is not
///            in order of columns; 12 in the result. Twice that for a general matrix.
[[nodiscard]] SymmetricMatrix read_matrix_market(const std::string& path);

/// Reads any real square matrix: a Rutherford-Boeing file when is_rutherford_boeing()
/// says so by its name, else Matrix Market as above, and in addition:
/// - skew-symmetric: one triangle is given, without diagonal; the result is general.
/// - general: symmetric when both triangles are equal, value by value; else general.
///
/// @throws FileError as the two readers; complex and hermitian matrices are not read
[[nodiscard]] InputMatrix read_matrix(const std::string& path);

}  // namespace espalier::solver
