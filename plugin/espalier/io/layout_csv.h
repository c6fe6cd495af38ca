#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/buffer_set.h"
#include "espalier/model/name_table.h"

namespace espalier {

/// Buffers from a CSV file, and its text, so that offsets can be written beside it.
struct LayoutFile {
  BufferSet buffers;
  NameTable ids;  ///< by buffer

  /// The header and the line of each buffer as they were read, without a column `offset`.
  [[nodiscard]] std::string_view header() const { return line(0); }
  [[nodiscard]] std::string_view line_of(BufferId buffer) const {
    return line(index(buffer) + 1);
  }

  std::string text;               ///< the header and the lines, one after the other
  std::vector<std::size_t> ends;  ///< of these, in `text`

 private:
  [[nodiscard]] std::string_view line(std::size_t number) const {
    const std::size_t first = number == 0 ? 0 : ends[number - 1];
    return std::string_view(text).substr(first, ends[number] - first);
  }
};

/// Reads buffers in the format of minimalloc:
///
///   id,lower,upper,size
///   a,0,2,4096
///   b,1,5,1024
///
/// The first line names the columns, in any order: `id` (or buffer, buffer_id; any text,
/// each once), `lower` (or start, begin) and `upper`, alive during [lower, upper), or
/// `end` instead of `upper`, the last time that is included; `size` in bytes. A column
/// `offset` is left out, others are kept as they are and mean nothing, but `alignment`
/// and `gaps`, which would change the question, are refused. No quotes. Empty lines are
/// skipped.
///
/// @throws FileError with the line for a column that is missing, twice or refused,
///         another number of fields, a value that is no integer or out of range, an empty
///         lifetime, a negative size, an id that is empty or that of another line, sizes
///         whose sum, each rounded up to the alignment, leaves the 64-bit range
/// @par Cost  O(text) time and memory
[[nodiscard]] LayoutFile read_layout_csv(std::istream& in, const std::string& name,
                                         Bytes alignment = 1);
[[nodiscard]] LayoutFile read_layout_csv(const std::string& path);

/// Writes what was read and a column `offset`. @throws FileError
void write_layout_csv(const std::string& path, const LayoutFile& file,
                      std::span<const Bytes> offsets);
void write_layout_csv(std::ostream& out, const LayoutFile& file,
                      std::span<const Bytes> offsets);

}  // namespace espalier
