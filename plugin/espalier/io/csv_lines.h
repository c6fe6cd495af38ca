#pragma once

#include <cstdint>
#include <istream>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"

namespace espalier {

/// Lines of a stream without their ends, and the fields of one, which commas part; there
/// are no quotes. Empty lines and a byte order mark (UTF-8) are skipped.
class CsvLines {
 public:
  /// `name` stands for the stream in messages; both must outlive the reader.
  CsvLines(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  /// The next line that is not empty; false at the end.
  /// @throws FileError when the stream cannot be read
  bool next() {
    do {
      if (!std::getline(in_, line_)) {
        if (in_.bad()) throw FileError(name_, 0, "cannot be read");
        return false;
      }
      if (++number_ == 1 && line_.starts_with("\xEF\xBB\xBF")) line_.erase(0, 3);
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
  [[nodiscard]] std::int64_t number() const { return number_; }
  [[nodiscard]] std::span<const std::string_view> fields() const { return fields_; }
  /// @throws FileError always, at this line
  [[noreturn]] void fail(const std::string& message) const {
    throw FileError(name_, number_, message);
  }

 private:
  std::istream& in_;
  const std::string& name_;
  std::string line_;
  std::int64_t number_ = 0;
  std::vector<std::string_view> fields_;
};

}  // namespace espalier
