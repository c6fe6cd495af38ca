#include "espalier/machine/load_module.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>

#include "espalier/model/error.h"

namespace espalier {
namespace {

namespace fs = std::filesystem;

// Of the program or the shared library that this is linked into.
fs::path own_folder() {
  Dl_info own{};
  static const char here = 0;
  if (dladdr(&here, &own) == 0 || own.dli_fname == nullptr) return {};
  return fs::path(own.dli_fname).parent_path();
}

// The first that exists; where none does, the one that is installed.
fs::path module_path(const char* file) {
  const fs::path program = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path own = own_folder();
  for (const fs::path& folder : {program, program / "..", own, own / "espalier"})
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
