#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace espalier::solver {

/// What the third word of an entry's line is; there is none for a pattern, and a fourth
/// one for complex values, which have two parts.
enum class EntryField { kReal, kInteger, kPattern, kComplex };

/// One line of a coordinate file; row and column from 0. The value of a pattern is 1.
struct MatrixMarketEntry {
  std::int32_t row, column;
  double value;
};

/// Some whole lines of a coordinate file and what they hold: the entries up to the end or
/// to the first fault.
struct EntryChunk {
  struct Fault {
    const char* position;  ///< in the line at fault
    std::string message;
  };
  std::string_view text;
  std::vector<MatrixMarketEntry> entries;
  std::vector<double> imaginary;  ///< parts of complex entries; else empty
  std::optional<Fault> fault;
};

/// Cuts the text at line ends into chunks of about 128 KiB. Chunks that are already there
/// are used again with their memory.
void cut_into_chunks(std::string_view text, std::vector<EntryChunk>& chunks);

/// Parses chunk.text; row and column must be in 1 … size.
void parse_chunk(EntryChunk& chunk, std::int32_t size, EntryField field);

/// Start of the line of the chunk's k-th entry.
[[nodiscard]] const char* entry_position(const EntryChunk& chunk, std::size_t k);

}  // namespace espalier::solver
