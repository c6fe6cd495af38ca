#pragma once

#include <string>

#include "solver/io/any_matrix.h"
#include "solver/matrix/general_matrix.h"

namespace espalier::solver {

/// Whether the name ends in .rb, .hb or in a type such as .rsa or .pua, perhaps with .gz
/// after it; letters in any case.
[[nodiscard]] bool is_rutherford_boeing(const std::string& path);

/// Reads an assembled real square matrix from a file in the Rutherford-Boeing format or
/// the older Harwell-Boeing format [DGL89], plain or gzip.
///
///   title                                          72 characters, then a key
///   lines: all, of pointers, indices, values       older: and of right-hand sides
///   type, rows, columns, entries, 0                e.g. rsa 3 3 4 0
///   formats of pointers, indices, values           e.g. (26I3) (26I3) (4E20.12)
///   one pointer a column and one more, from 1; row indices; values: fixed columns
///
/// Types: r or i with values, p without: all are 1; s symmetric, one triangle; u general;
/// z skew-symmetric; a assembled. Right-hand sides are not read. An entry given several
/// times is the sum of its values.
///
/// @throws FileError naming the line
/// @par Cost  O(text + n + entries) and a sort of columns that are out of order
[[nodiscard]] InputMatrix read_rutherford_boeing(const std::string& path);

/// The same, and complex matrices: type c with two values an entry, h Hermitian, one
/// triangle. What is given as general, u, is Hermitian or symmetric when both triangles
/// agree.
[[nodiscard]] AnyMatrix read_any_rutherford_boeing(const std::string& path);

}  // namespace espalier::solver
