#pragma once

#include <string>
#include <vector>

namespace espalier::cli_test {

/// One run of the program `espalier`, its standard input closed.
struct Outcome {
  /// Exit status; -1: ended by a signal, after two minutes at the latest.
  int status = -1;
  std::string out, err;
};

[[nodiscard]] Outcome run(const std::vector<std::string>& arguments);

/// A file of this test's own, removed by the destructor.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& text);
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile();
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string text() const;

 private:
  std::string path_;
};

}  // namespace espalier::cli_test
