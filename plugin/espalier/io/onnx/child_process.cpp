#include "espalier/io/onnx/child_process.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <string_view>

#include "espalier/model/error.h"

namespace espalier::onnx_detail {
namespace {

[[noreturn]] void fail(const char* call) {
  throw Error(fmt::format("{}: {}", call, std::strerror(errno)));
}

bool write_all(int file, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

std::string read_all(int file) {
  std::string bytes;
  std::array<char, 1 << 16> block{};
  for (;;) {
    const ssize_t length = read(file, block.data(), block.size());
    if (length < 0 && errno == EINTR) continue;
    if (length <= 0) return bytes;
    bytes.append(block.data(), static_cast<std::size_t>(length));
  }
}

// An answer is a '+' and the result, or a '-' and what was thrown.
[[noreturn]] void run_and_exit(const std::function<std::string()>& work, int answer) {
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT})
    signal(number, SIG_DFL);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  std::string bytes;
  try {
    bytes = '+' + work();
  } catch (const std::exception& error) {
    bytes = std::string("-") + error.what();
  }
  _exit(write_all(answer, bytes) ? 0 : 1);
}

}  // namespace

tl::expected<std::string, std::string> run_in_child(
    const std::function<std::string()>& work) {
  std::array<int, 2> pipe_ends{};
  if (pipe(pipe_ends.data()) != 0) fail("pipe");
  const pid_t child = fork();
  if (child == 0) {
    close(pipe_ends[0]);
    run_and_exit(work, pipe_ends[1]);
  }
  close(pipe_ends[1]);
  std::string answer = child < 0 ? "" : read_all(pipe_ends[0]);
  close(pipe_ends[0]);
  if (child < 0) fail("fork");
  int state = 0;
  while (waitpid(child, &state, 0) < 0 && errno == EINTR) {
  }
  if (WIFSIGNALED(state))
    return tl::unexpected(
        fmt::format("the onnx library ended by signal {}", WTERMSIG(state)));
  if (answer.empty() || WEXITSTATUS(state) != 0)
    return tl::unexpected<std::string>("the onnx library gave no answer");
  const bool good = answer.front() == '+';
  answer.erase(0, 1);
  if (!good) return tl::unexpected(std::move(answer));
  return answer;
}

}  // namespace espalier::onnx_detail
