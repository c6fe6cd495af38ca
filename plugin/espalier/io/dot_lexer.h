#pragma once

#include <cstdint>
#include <string>

#include "espalier/io/text_input.h"

namespace espalier {

/// A word of the DOT language [GKN15].
struct DotToken {
  enum class Kind {
    kEnd,
    kId,  ///< a name, a number, a quoted or an HTML string; `text` is what it stands for
    kStrict,
    kGraph,
    kDigraph,
    kNode,
    kEdge,
    kSubgraph,
    kOpenBrace,
    kCloseBrace,
    kOpenBracket,
    kCloseBracket,
    kEquals,
    kComma,
    kSemicolon,
    kColon,
    kArrow,      ///< ->
    kUndirected  ///< --
  };
  Kind kind = Kind::kEnd;
  std::string text = {};  ///< as it was written, of an identifier what it stands for
  std::int64_t line = 0;  ///< on which it begins
};

/// For messages: "'->'", "the end of the file".
[[nodiscard]] std::string describe(const DotToken& token);

/// The words of a DOT file one after the other. Comments (// and /* */, and lines that
/// begin with #) are skipped. In a quoted string \" is a quote, a backslash before an end
/// of line takes both away and every other backslash stays; strings with + between them
/// are one. Keywords are those of the language, in any case, unless quoted.
class DotLexer {
 public:
  explicit DotLexer(TextInput& text) : text_(text) {}

  /// @throws FileError naming the line for a character that begins no word, for a string
  ///         or a comment that does not end
  [[nodiscard]] DotToken next();

 private:
  void skip_blanks();
  void skip_line();
  void skip_comment();
  [[nodiscard]] DotToken word();
  [[nodiscard]] DotToken number(DotToken token);
  [[nodiscard]] DotToken dash();
  [[nodiscard]] DotToken quoted_string();
  void quoted_part(DotToken& token);
  [[nodiscard]] DotToken html_string();

  TextInput& text_;
  bool at_line_start_ = true;
};

}  // namespace espalier
