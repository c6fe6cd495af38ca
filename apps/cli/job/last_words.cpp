#include "cli/job/last_words.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <string>

namespace espalier::cli {

void print_last_words(std::string_view message) {
  const std::string line = fmt::format("espalier: {}\n", message);
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(STDERR_FILENO, rest.data(), rest.size());
    if (written <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
}

void end_process(int status) {
  if (ftrylockfile(stdout) == 0) std::fflush(stdout);
  _exit(status);
}

}  // namespace espalier::cli
