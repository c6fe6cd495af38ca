#pragma once

#include <string>

#include "solver/io/any_matrix.h"
#include "solver/io/text_reader.h"
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

/// The same of a Matrix Market file that is open, and of which nothing was taken.
[[nodiscard]] InputMatrix read_matrix(TextReader&& text);

/// The same, and complex matrices: field complex, with two values on each line. The kind
/// is the file's:
/// - symmetric and skew-symmetric: as above, without conjugation;
/// - hermitian: one triangle is given, either, and the diagonal is real;
/// - general: Hermitian or symmetric when both triangles agree, value by value.
///
/// @throws FileError as read_matrix(); naming the line for a diagonal entry of a
/// Hermitian
///         matrix that is not real, and for an order above kMostComplexOrder
/// @par Memory  32 bytes an entry while reading, 20 in the result
[[nodiscard]] AnyMatrix read_any_matrix(const std::string& path);

}  // namespace espalier::solver
