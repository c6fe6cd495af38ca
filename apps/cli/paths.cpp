#include "cli/paths.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "espalier/model/error.h"

namespace espalier::cli {

void check_directory(const std::string& option, const std::string& directory) {
  const std::string name = option + ' ' + directory;
  std::error_code ignored;
  if (std::filesystem::exists(directory, ignored) &&
      !std::filesystem::is_directory(directory, ignored))
    throw FileError(name, 0, "is not a directory");
  if (access(directory.c_str(), W_OK | X_OK) != 0)
    throw FileError(name, 0,
                    fmt::format("cannot be written to: {}", std::strerror(errno)));
}

}  // namespace espalier::cli
