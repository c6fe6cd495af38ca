#include "cli/program.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace espalier::cli_test {
namespace {

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Between fork() and exec(): only calls that are safe there.
[[noreturn]] void become(char* const* arguments, const char* out, const char* err,
                         std::optional<std::int64_t> most_file_bytes) {
  if (most_file_bytes) {
    const auto most = static_cast<rlim_t>(*most_file_bytes);
    const rlimit limit{most, most};
    if (setrlimit(RLIMIT_FSIZE, &limit) != 0) _exit(127);
    signal(SIGXFSZ, SIG_IGN);  // writes fail, as on a full disk
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

}  // namespace

Outcome run(const std::vector<std::string>& arguments,
            std::optional<std::int64_t> most_file_bytes) {
  const TemporaryFile out("");
  const TemporaryFile err("");
  std::vector<std::string> words = {"espalier"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0)
    become(argv.data(), out.path().c_str(), err.path().c_str(), most_file_bytes);
  int state = 0;
  if (waitpid(child, &state, 0) != child) throw std::runtime_error("waitpid failed");
  return {WIFEXITED(state) ? WEXITSTATUS(state) : -1, out.text(), err.text()};
}

TemporaryFile::TemporaryFile(const std::string& text) {
  path_ = (std::filesystem::temp_directory_path() / "espalier_cli_XXXXXX").string();
  const int file = mkstemp(path_.data());
  if (file < 0) throw std::runtime_error("mkstemp failed: " + path_);
  close(file);
  std::ofstream(path_, std::ios::binary) << text;
}

TemporaryFile::~TemporaryFile() { std::filesystem::remove(path_); }

std::string TemporaryFile::text() const { return slurp(path_); }

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
