#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "espalier/io/text_input.h"

namespace espalier {

/// Lines of a stream without their ends, and the fields of one, which commas part; there
/// are no quotes. Empty lines and a byte order mark (UTF-8) are skipped.
class CsvLines {
 public:
  /// `name` stands for the stream in messages; both must outlive the reader.
  CsvLines(std::istream& in, const std::string& name) : text_(in, name) {}
  /// What is left of a text.
  explicit CsvLines(TextInput&& text) : text_(std::move(text)) {}

  /// The next line that is not empty; false at the end.
  /// @throws FileError when the stream cannot be read or a line has no end
  bool next() {
    do {
      if (!text_.take_line(line_)) return false;
      if (line_.ends_with('\r')) line_.pop_back();
    } while (line_.empty());
    fields_.clear();
    std::string_view rest = line_;
    for (std::size_t comma = rest.find(','); comma != std::string_view::npos;
         comma = rest.find(',')) {
      fields_.push_back(rest.substr(0, comma));
      rest.remove_prefix(comma + 1);
    }
    fields_.push_back(rest);
    return true;
  }

  [[nodiscard]] std::string_view line() const { return line_; }
  [[nodiscard]] std::int64_t number() const { return text_.line(); }
  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  /// @throws FileError always, at this line
  [[noreturn]] void fail(const std::string& message) const { text_.fail(message); }

 private:
  TextInput text_;
  std::string line_;
  std::vector<std::string_view> fields_;
};

}  // namespace espalier
