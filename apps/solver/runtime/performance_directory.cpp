#include "solver/runtime/performance_directory.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

namespace fs = std::filesystem;
constexpr const char* kDirectoryName = "STARPU_PERF_MODEL_DIR";

fs::path temporary_folder() {
  std::error_code error;
  fs::path folder = fs::temp_directory_path(error);
  return error ? fs::path("/tmp") : folder;
}

// As StarPU does.
fs::path own_directory() {
  if (const char* given = std::getenv(kDirectoryName)) return given;
  fs::path base = temporary_folder();
  for (const char* name : {"XDG_CACHE_HOME", "STARPU_HOME", "HOME", "USERPROFILE"}) {
    const char* const value = std::getenv(name);
    if (value == nullptr) continue;
    base = value;
    break;
  }
  return base / ".starpu" / "sampling";
}

// Makes what StarPU would make.
bool can_be_written(const fs::path& directory) {
  const fs::path inner = directory / "bus";
  std::error_code error;
  fs::create_directories(inner, error);
  return !error && access(directory.c_str(), W_OK | X_OK) == 0 &&
         access(inner.c_str(), W_OK | X_OK) == 0;
}

}  // namespace

PerformanceDirectory::PerformanceDirectory() {
  const fs::path own = own_directory();
  if (can_be_written(own)) return;
  const fs::path folder = temporary_folder();
  for (const fs::path& each : {folder, fs::path("/dev/shm")}) {
    std::string name = each / "espalier-starpu-XXXXXX";
    if (mkdtemp(name.data()) == nullptr) continue;
    made_ = std::move(name);
    break;
  }
  if (made_.empty())
    throw Error(fmt::format(
        "StarPU keeps what it measures in {}, which cannot be written, nor can {}: {}; "
        "STARPU_HOME names a place",
        own.string(), folder.string(), system_text(errno)));
  if (const char* given = std::getenv(kDirectoryName)) given_ = given;
  setenv(kDirectoryName, made_.c_str(), 1);
}

PerformanceDirectory::~PerformanceDirectory() {
  if (made_.empty()) return;
  if (given_) {
    setenv(kDirectoryName, given_->c_str(), 1);
  } else {
    unsetenv(kDirectoryName);
  }
  std::error_code ignored;
  fs::remove_all(made_, ignored);
}

}  // namespace espalier::solver
