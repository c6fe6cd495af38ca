// One target under libFuzzer, ESPALIER_FUZZ_TARGET (a function of fuzz_target.h). An
// empty directory that is given as corpus is filled with the target's seeds first.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>

#include "espalier/model/error.h"
#include "fuzz/fuzz_target.h"

namespace {

const espalier::fuzz::Target kTarget = espalier::fuzz::ESPALIER_FUZZ_TARGET();

}  // namespace

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv) {
  namespace fs = std::filesystem;
  for (int i = 1; i < *argc; ++i) {
    const fs::path corpus = (*argv)[i];
    if (!fs::is_directory(corpus)) continue;
    int number = 0;
    if (fs::is_empty(corpus)) {
      for (const std::string& seed : kTarget.seeds())
        std::ofstream(corpus / ("seed" + std::to_string(number++))) << seed;
    }
    break;
  }
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    kTarget.run({reinterpret_cast<const char*>(data), size});
  } catch (const espalier::Error&) {
  }
  return 0;
}
