#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace espalier::cli_test {

/// One run of the program `espalier`, its standard input closed.
struct Outcome {
  /// Exit status; -1: ended by `signal`, after two minutes at the latest.
  int status = -1;
  int signal = 0;
  std::string out, err;
};

/// Lines of standard error that say something: all but the command that works in the
/// place of a refused one, which stands indented at the end.
[[nodiscard]] std::int64_t messages(const Outcome& outcome);

/// @param most_file_bytes  of any file that the program writes (RLIMIT_FSIZE)
/// @param most_address_space  of the program, in bytes (RLIMIT_AS)
[[nodiscard]] Outcome run(const std::vector<std::string>& arguments,
                          std::optional<std::int64_t> most_file_bytes = std::nullopt,
                          std::optional<std::int64_t> most_address_space = std::nullopt);

/// The same; `disturb` is called with the process id again and again, until it answers
/// that it has done what it wanted or the program has ended.
/// @return nothing when the program ended first
[[nodiscard]] std::optional<Outcome> run_disturbed(
    const std::vector<std::string>& arguments, const std::function<bool(int)>& disturb);

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

/// What is in a file; of one that is not there, nothing.
[[nodiscard]] std::string text_of(const std::string& path);

/// A directory of this test's own, removed with what is in it by the destructor.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  TemporaryDirectory(const TemporaryDirectory&) = delete;
  TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;
  ~TemporaryDirectory();
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Names of what is in it, hidden files too.
  [[nodiscard]] std::vector<std::string> names() const;

 private:
  std::string path_;
};

}  // namespace espalier::cli_test
