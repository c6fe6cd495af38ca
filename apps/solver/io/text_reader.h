#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "espalier/model/error.h"

struct gzFile_s;

namespace espalier::solver {

/// A text file, plain or gzip (told apart by its first bytes), as blocks of whole lines.
///
/// Holds two blocks of 4 MiB at most, however large the file. A gzip file that was cut
/// off or damaged is an error, never a short file.
class TextReader {
 public:
  /// @throws FileError when the file does not exist, is not a regular file or a pipe, or
  ///                   cannot be opened
  explicit TextReader(const std::string& path);

  /// The next lines; each ends in '\n' except perhaps the last line of the file. Empty at
  /// the end of the file. Valid until the next call.
  ///
  /// @throws FileError when reading fails or a line is longer than a block
  [[nodiscard]] std::string_view next_block();

  /// What the text begins with, 4 MiB or all of it; the first next_block() starts there,
  /// too. @throws FileError when reading fails
  [[nodiscard]] std::string_view beginning();

  /// Number, from 1, of the line that holds a position in the current block.
  [[nodiscard]] std::int64_t line_of(const char* position) const;

  /// @throws FileError always; at a line, at the first one, or without one
  [[noreturn]] void fail_at(const char* position, const std::string& message) const;
  [[noreturn]] void fail_at_banner(const std::string& message) const;
  [[noreturn]] void fail(const std::string& message) const;

  [[nodiscard]] const std::string& path() const { return path_; }

  /// An upper bound on the bytes of text in the file.
  [[nodiscard]] std::int64_t most_bytes() const { return most_bytes_; }

 private:
  struct Close {
    void operator()(gzFile_s* file) const noexcept;
  };
  void fill();

  std::string path_;
  std::unique_ptr<gzFile_s, Close> file_;
  std::unique_ptr<char[]> buffer_;  // not cleared: few pages of it for a small file
  std::size_t used_ = 0;            // bytes of text in the buffer
  std::size_t block_ = 0;           // of these in the current block, which comes first
  std::int64_t block_line_ = 1;
  std::int64_t most_bytes_ = 0;
  bool at_end_ = false;
};

[[nodiscard]] constexpr bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// The first line of the text, without its end; removes it from the text.
[[nodiscard]] std::string_view take_line(std::string_view& text);

/// The first word of the line, separated by blanks; removes it. Empty: no more words.
[[nodiscard]] std::string_view take_word(std::string_view& line);
[[nodiscard]] std::string lower_case(std::string_view word);

/// Whether a line holds no word, or starts with '%'.
[[nodiscard]] bool is_blank_or_comment(std::string_view line);

}  // namespace espalier::solver
