#include "espalier/machine/blas_kernel.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

namespace espalier {
namespace {

// By dynamic.c of OpenBLAS; Excavator's cores have AVX2 in halves, and kernels to suit.
constexpr std::array<std::pair<std::string_view, VectorUnit>, 23> kKernels = {{
    {"Katmai", VectorUnit::kNone},       {"Coppermine", VectorUnit::kNone},
    {"Northwood", VectorUnit::kNone},    {"Prescott", VectorUnit::kNone},
    {"Banias", VectorUnit::kNone},       {"Atom", VectorUnit::kNone},
    {"Core2", VectorUnit::kNone},        {"Penryn", VectorUnit::kNone},
    {"Dunnington", VectorUnit::kNone},   {"Nehalem", VectorUnit::kNone},
    {"Athlon", VectorUnit::kNone},       {"Opteron", VectorUnit::kNone},
    {"Opteron_SSE3", VectorUnit::kNone}, {"Barcelona", VectorUnit::kNone},
    {"Nano", VectorUnit::kNone},         {"Bobcat", VectorUnit::kNone},
    {"Sandybridge", VectorUnit::kAvx},   {"Bulldozer", VectorUnit::kAvx},
    {"Piledriver", VectorUnit::kAvx},    {"Steamroller", VectorUnit::kAvx},
    {"Excavator", VectorUnit::kAvx2},    {"Haswell", VectorUnit::kAvx2},
    {"Zen", VectorUnit::kAvx2},
}};

// Functions of OpenBLAS without arguments that give a text.
std::optional<std::string> ask_openblas(const char* function) {
  void* const symbol = dlsym(RTLD_DEFAULT, function);
  if (symbol == nullptr) return std::nullopt;
  const char* const text = reinterpret_cast<const char* (*)()>(symbol)();
  if (text == nullptr) return std::nullopt;
  return text;
}

std::string make_advice() {
  const auto advised = advised_blas_kernel();
  if (!advised) return {};
  return fmt::format(
      "OpenBLAS runs its kernel {} on a processor for which it has {}: set {}={} before "
      "the program starts",
      blas_kernel().value_or("?"), *advised, kBlasKernelVariable, *advised);
}

}  // namespace

Processor this_processor() {
  Processor processor;
#if defined(__x86_64__) || defined(__i386__)
  __builtin_cpu_init();
  processor.amd = __builtin_cpu_is("amd") != 0;
  if (__builtin_cpu_supports("avx")) processor.unit = VectorUnit::kAvx;
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    processor.unit = VectorUnit::kAvx2;
  if (processor.unit == VectorUnit::kAvx2 && __builtin_cpu_supports("avx512f") &&
      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    processor.unit = VectorUnit::kAvx512;
#endif
  return processor;
}

std::optional<std::string_view> suitable_blas_kernel(const Processor& processor) {
  switch (processor.unit) {
    case VectorUnit::kNone:
      return std::nullopt;
    case VectorUnit::kAvx:
      return processor.amd ? "Bulldozer" : "Sandybridge";
    case VectorUnit::kAvx2:
      return processor.amd ? "Zen" : "Haswell";
    case VectorUnit::kAvx512:
      return "SkylakeX";
  }
  return std::nullopt;
}

std::optional<std::string_view> better_blas_kernel(const Processor& processor,
                                                   std::string_view kernel) {
  const auto* const known =
      std::find_if(kKernels.begin(), kKernels.end(),
                   [&](const auto& each) { return each.first == kernel; });
  if (known == kKernels.end() || known->second >= processor.unit) return std::nullopt;
  return suitable_blas_kernel(processor);
}

std::optional<std::string> blas_kernel() { return ask_openblas("openblas_get_corename"); }

std::optional<std::string_view> advised_blas_kernel() {
  if (std::getenv(kBlasKernelVariable) != nullptr) return std::nullopt;
  const auto config = ask_openblas("openblas_get_config");
  if (!config || config->find("DYNAMIC_ARCH") == std::string::npos) return std::nullopt;
  const auto kernel = blas_kernel();
  return kernel ? better_blas_kernel(this_processor(), *kernel) : std::nullopt;
}

const std::string& blas_advice() {
  static const std::string advice = make_advice();
  return advice;
}

}  // namespace espalier
