#pragma once

#include <cstdint>
#include <istream>
#include <string>
#include <string_view>
#include <vector>

namespace espalier {

/// Of UTF-8, at the start of a file. Skipped.
inline constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

/// The characters of a stream one after the other, with the line they stand on. Holds one
/// block of 64 KiB, however large the stream.
///
/// A newline stands at the end of the line that it ends. A byte order mark (UTF-8) at the
/// start of the stream is skipped.
class TextInput {
 public:
  static constexpr int kEnd = -1;

  /// `name` stands for the stream in messages; both must outlive the reader.
  /// @throws FileError when the stream cannot be read
  TextInput(std::istream& in, const std::string& name);

  /// The next character, 0 … 255, which stays; kEnd at the end of the stream.
  /// @throws FileError when the stream cannot be read
  [[nodiscard]] int peek() {
    if (first_ == size_) fill();
    return first_ == size_ ? kEnd : static_cast<unsigned char>(buffer_[first_]);
  }

  /// The same, and goes on to the one after it.
  int take() {
    const int character = peek();
    if (character == kEnd) return kEnd;
    ++first_;
    line_ += after_newline_ ? 1 : 0;
    after_newline_ = character == '\n';
    return character;
  }

  /// The rest of this line without its end, into `line`; false at the end of the stream.
  /// @throws FileError when the stream cannot be read or the line is longer than
  ///         kLongestLine
  bool take_line(std::string& line);
  static constexpr std::size_t kLongestLine = std::size_t{4} << 20;

  /// From 1: the line of the last character that was taken.
  [[nodiscard]] std::int64_t line() const { return line_; }

  [[nodiscard]] const std::string& name() const { return name_; }

  /// @throws FileError always, at line()
  [[noreturn]] void fail(const std::string& message) const;

 private:
  void fill();

  std::istream& in_;
  const std::string& name_;
  std::vector<char> buffer_;
  std::size_t first_ = 0, size_ = 0;  // what is not yet handed out
  bool at_end_ = false, after_newline_ = false;
  std::int64_t line_ = 1;
};

/// Text from a file for a message: in quotes, cut after 80 bytes, control characters
/// written as '?'.
[[nodiscard]] std::string excerpt(std::string_view text);

}  // namespace espalier
