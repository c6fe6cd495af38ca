#include "cli/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "espalier/model/error.h"

namespace espalier::cli {

void check_writable(const std::string& path, const std::filesystem::path& folder,
                    const char* problem) {
  if (access(folder.c_str(), W_OK | X_OK) != 0)
    throw FileError(path, 0, fmt::format("{}: {}", problem, std::strerror(errno)));
}

void check_directory(const std::string& option, const std::string& directory) {
  const std::string name = option + ' ' + directory;
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored))
    throw FileError(name, 0, "is not a directory");
  check_writable(name, directory, "cannot be written to");
}

}  // namespace espalier::cli
