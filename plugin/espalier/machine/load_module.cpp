#include "espalier/machine/load_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "espalier/model/error.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// The first that exists; where none does, the one that is installed.
fs::path module_path(const char* file) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  for (const fs::path& folder : {program, program / ".."})
    if (fs::path path = folder / file; fs::exists(path)) return path;
  return (program / ESPALIER_MODULES_FROM_PROGRAM / file).lexically_normal();
}

}  // namespace

const void* load_module(const char* file, const char* purpose, const char* symbol) {
  const auto refuse = [&](const char* why) {
    throw Error(
        fmt::format("{} need {}, which cannot be loaded: {}", purpose, file, why));
  };
  void* const module = dlopen(module_path(file).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (module == nullptr) refuse(dlerror());
  const void* const address = dlsym(module, symbol);
  if (address == nullptr) refuse(dlerror());
  return address;
}

}  // namespace espalier
