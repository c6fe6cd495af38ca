#include "cli/program.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

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
[[noreturn]] void become(char* const* arguments, const char* out, const char* err) {
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

Outcome run(const std::vector<std::string>& arguments) {
  const TemporaryFile out("");
  const TemporaryFile err("");
  std::vector<std::string> words = {"espalier"};
  words.insert(words.end(), arguments.begin(), arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);

  const pid_t child = fork();
  if (child < 0) throw std::runtime_error("fork failed");
  if (child == 0) become(argv.data(), out.path().c_str(), err.path().c_str());
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

}  // namespace espalier::cli_test
