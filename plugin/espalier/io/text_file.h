#pragma once

#include <fmt/format.h>

#include <functional>
#include <iterator>
#include <ostream>
#include <string>
#include <utility>

namespace espalier {

/// Text on its way to a stream, in blocks of 1 MiB. flush() hands over the last of them.
class TextOutput {
 public:
  explicit TextOutput(std::ostream& out) : out_(out) {}

  template <class... Args>
  void print(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<Args>(args)...);
    if (text_.size() >= 1024 * 1024) flush();
  }

  /// print() and the end of the line.
  template <class... Args>
  void line(fmt::format_string<Args...> format, Args&&... args) {
    print(format, std::forward<Args>(args)...);
    text_.push_back('\n');
  }

  void flush() {
    out_.write(text_.data(), static_cast<std::streamsize>(text_.size()));
    text_.clear();
  }

 private:
  std::ostream& out_;
  fmt::memory_buffer text_;
};

/// Calls `write` with a stream to the file, which appears when it is whole (OutputFile).
/// @throws FileError with the system's reason when it cannot be opened or written in full
void write_file(const std::string& path, const std::function<void(std::ostream&)>& write);

/// Calls `read` with a stream of the file. @throws FileError with the system's reason
/// when it cannot be opened or read
void read_file(const std::string& path, const std::function<void(std::istream&)>& read);

}  // namespace espalier
