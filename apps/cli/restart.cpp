#include "cli/restart.h"

#include <fmt/format.h>
#include <sys/auxv.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <string>

#include "espalier/machine/blas_kernel.h"

namespace espalier::cli {
namespace {

constexpr const char* kThisProgram = "/proc/self/exe";

// Where a program is started as an argument of the dynamic loader, that is the process's
// executable. The loader alone has no loader.
bool is_own_executable() { return getauxval(AT_BASE) != 0; }

// Returns only when it fails. Through its path first, as the system names the process
// after the last part of that.
void execute_again(char** arguments) {
  std::array<char, PATH_MAX> path{};
  if (readlink(kThisProgram, path.data(), path.size() - 1) > 0)
    execve(path.data(), arguments, environ);
  execve(kThisProgram, arguments, environ);
}

}  // namespace

std::string restart_with_suitable_blas(char** arguments) {
  const auto kernel = advised_blas_kernel();
  if (!kernel) return {};
  if (!is_own_executable()) return blas_advice();
  if (setenv(kBlasKernelVariable, std::string(*kernel).c_str(), 0) == 0)
    execute_again(arguments);
  const int error = errno;
  unsetenv(kBlasKernelVariable);
  return fmt::format("cannot start again: {}. {}", std::strerror(error), blas_advice());
}

}  // namespace espalier::cli
