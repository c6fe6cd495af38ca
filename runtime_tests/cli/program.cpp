#include "cli/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace espalier::cli_test {

// Of a process in /proc that ends meanwhile, what was read until then.
std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

namespace {

// Between fork() and exec(): only calls that are safe there.
[[noreturn]] void become(char* const* arguments, const char* out, const char* err,
                         std::optional<std::int64_t> most_file_bytes,
                         std::optional<std::int64_t> most_address_space) {
  if (most_address_space) {
    const auto most = static_cast<rlim_t>(*most_address_space);
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_AS, &limit) != 0) _exit(126);
  }
  if (most_file_bytes) {
    const auto most = static_cast<rlim_t>(*most_file_bytes);
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(127);
  }
  const int in_fd = open("/dev/null", O_RDONLY);
  const int out_fd = open(out, O_WRONLY | O_TRUNC);
  const int err_fd = open(err, O_WRONLY | O_TRUNC);
  if (dup2(in_fd, 0) == 0 && dup2(out_fd, 1) == 1 && dup2(err_fd, 2) == 2) {
    alarm(120);  // a program that hangs is ended by a signal
    execv(ESPALIER_PROGRAM, arguments);
  }
  _exit(127);
}

// The program from fork() to its end.
class Process {
 public:
  Process(const std::vector<std::string>& arguments,
          std::optional<std::int64_t> most_file_bytes,
          std::optional<std::int64_t> most_address_space = std::nullopt) {
    std::vector<std::string> words = {"espalier"};
    words.insert(words.end(), arguments.begin(), arguments.end());
    std::vector<char*> argv;
    for (std::string& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    id_ = fork();
    if (id_ < 0) throw std::runtime_error("fork failed");
    if (id_ == 0)
      become(argv.data(), out_.path().c_str(), err_.path().c_str(), most_file_bytes,
             most_address_space);
  }

  [[nodiscard]] pid_t id() const { return id_; }

  // Whether it is over; with `wait`, when it is.
  bool ended(bool wait) {
    const pid_t who = waitpid(id_, &state_, wait ? 0 : WNOHANG);
    if (who < 0) throw std::runtime_error("waitpid failed");
    return who == id_;
  }

  // After ended().
  [[nodiscard]] Outcome outcome() const {
    return {WIFEXITED(state_) ? WEXITSTATUS(state_) : -1,
            WIFSIGNALED(state_) ? WTERMSIG(state_) : 0, out_.text(), err_.text()};
  }

 private:
  TemporaryFile out_{""}, err_{""};
  pid_t id_ = -1;
  int state_ = 0;
};

}  // namespace

std::int64_t messages(const Outcome& outcome) {
  std::int64_t count = 0;
  for (std::size_t begin = 0; begin < outcome.err.size();) {
    count += outcome.err.compare(begin, 2, "  ") != 0;
    begin = std::min(outcome.err.find('\n', begin), outcome.err.size() - 1) + 1;
  }
  return count;
}

Outcome run(const std::vector<std::string>& arguments,
            std::optional<std::int64_t> most_file_bytes,
            std::optional<std::int64_t> most_address_space) {
  Process process(arguments, most_file_bytes, most_address_space);
  process.ended(true);
  return process.outcome();
}

std::optional<Outcome> run_disturbed(const std::vector<std::string>& arguments,
                                     const std::function<bool(int)>& disturb) {
  Process process(arguments, std::nullopt);
  while (!disturb(process.id())) {
    if (process.ended(false)) return std::nullopt;
  }
  process.ended(true);
  return process.outcome();
}

TemporaryFile::TemporaryFile(const std::string& text) {
  path_ = (std::filesystem::temp_directory_path() / "espalier_cli_XXXXXX").string();
  const int file = mkstemp(path_.data());
  if (file < 0) throw std::runtime_error("mkstemp failed: " + path_);
  close(file);
  std::ofstream(path_, std::ios::binary) << text;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove(path_); }

std::string TemporaryFile::text() const { return text_of(path_); }

TemporaryDirectory::TemporaryDirectory() {
  path_ = (std::filesystem::temp_directory_path() / "espalier_cli_XXXXXX").string();
  if (mkdtemp(path_.data()) == nullptr)
    throw std::runtime_error("mkdtemp failed: " + path_);
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::vector<std::string> TemporaryDirectory::names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_))
    names.push_back(entry.path().filename().string());
  return names;
}

}  // namespace espalier::cli_test
