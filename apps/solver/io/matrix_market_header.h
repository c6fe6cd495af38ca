#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "solver/io/text_reader.h"

namespace espalier::solver {

/// Banner and size line of a Matrix Market file.
struct MatrixMarketHeader {
  std::string format;    ///< "coordinate" or "array"
  std::string field;     ///< "real", "integer", "pattern", "complex", …
  std::string symmetry;  ///< "general", "symmetric", …
  std::int64_t rows = 0;
  std::int64_t columns = 0;
  std::int64_t entries = 0;  ///< rows * columns for an array
};

/// Reads up to the size line. Words of the banner come back in lower case.
///
/// @param rest  set to what follows the size line in the reader's current block
/// @throws FileError for an empty file, a banner of other than five words, a size line
///                   that is missing, malformed or negative
[[nodiscard]] MatrixMarketHeader read_header(TextReader& reader, std::string_view& rest);

/// Reads a decimal floating-point number that must fill the word, its exponent as C or
/// Fortran writes it: 1e3, 1D3, 1-100. One too small for a double is refused, as one too
/// large: it would become 0.
///
/// @return nothing was wrong, or what was: "malformed value 'x'", "value 'nan' …"
[[nodiscard]] std::string parse_value(std::string_view word, double& value);

}  // namespace espalier::solver
