#pragma once

#include <string>
#include <string_view>

namespace espalier {

/// A message as it goes to a terminal or a log, whatever a file or a user put into it:
///   - control characters and bytes that are no UTF-8 stand as \x0a, those from U+0080 to
///     U+009F byte by byte: terminals obey them, too;
///   - of a word (what blanks part) of more than 160 bytes only its first 60 and their
///     number remain: "11111…(400 bytes)"; paths, words with a '/', stay up to 4096.
/// @param keep_line_ends  a line end of the text is one of the answer
[[nodiscard]] std::string printable(std::string_view text, bool keep_line_ends = false);

/// Whether a terminal shows all of the text: UTF-8 without control characters.
[[nodiscard]] bool is_printable(std::string_view text);

}  // namespace espalier
