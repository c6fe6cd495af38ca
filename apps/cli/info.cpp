// espalier info: the machine, what this build has, how to load the policy into StarPU.

#include <dlfcn.h>
#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/remedy.h"
#include "espalier/machine/blas_kernel.h"
#include "espalier/machine/platform.h"
#include "solver/kernels/dgemm_rate.h"
#include "solver/ordering/ordering.h"
#ifdef ESPALIER_WITH_STARPU
#include <starpu.h>

#include "espalier.h"
#endif

namespace espalier::cli {
namespace {

// OpenBLAS says what it is at run time; another BLAS goes by "unknown".
std::string blas_name() {
  void* symbol = dlsym(RTLD_DEFAULT, "openblas_get_config");
  if (symbol == nullptr) return "unknown";
  return reinterpret_cast<const char* (*)()>(symbol)();
}

void report_blas(Report& report) {
  report.text("blas", "BLAS", blas_name());
  const auto suitable = suitable_blas_kernel(this_processor());
  if (const auto kernel = blas_kernel()) {
    report.text("blas_kernel", "its kernel", *kernel);
    if (suitable) report.text("blas_kernel_suitable", "for this processor", *suitable);
    const char* const chosen = std::getenv(kBlasKernelVariable);
    report.text("blas_kernel_chosen_by", "chosen by",
                chosen != nullptr ? fmt::format("{}={}", kBlasKernelVariable, chosen)
                                  : "OpenBLAS");
  }
  report.flops("dgemm_flops_per_second", "dgemm, flop/s of a core",
               solver::kernels::dgemm_rate());
}

std::string orderings() {
  std::string names;
  for (const solver::OrderingKind kind : solver::all_orderings()) {
    if (!solver::available(kind)) continue;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", solver::name(kind));
  }
  return names;
}

// "2 x 32.0 KiB L1, 1 x 8.0 MiB L3"
std::string cache_list(const Platform& machine) {
  std::map<std::pair<std::int32_t, Bytes>, int> count;
  for (const Cache& cache : machine.caches) ++count[{cache.level, cache.size}];
  std::string text;
  for (const auto& [cache, copies] : count) {
    text += fmt::format("{}{} x {} L{}", text.empty() ? "" : ", ", copies,
                        format_size(cache.second), cache.first);
  }
  return text;
}

void report_machine(Report& report, const Platform& machine) {
  report.heading("Machine, by " + machine.source);
  report.text("machine_source", "", machine.source);
  report.count("cores", "cores", machine.cores);
  report.count("hardware_threads", "hardware threads", machine.hardware_threads);
  report.count("numa_nodes", "NUMA nodes", std::ssize(machine.numa_nodes));
  report.text("caches", "caches", cache_list(machine));
  report.bytes("memory_bytes", "memory", machine.memory_size);
  report.bytes("available_memory_bytes", "memory free now", machine.available_memory);
}

#ifdef ESPALIER_WITH_STARPU
std::string policy_library() {
  Dl_info where = {};
  void* symbol = reinterpret_cast<void*>(&espalier_sched_policy);
  return dladdr(symbol, &where) != 0 && where.dli_fname != nullptr ? where.dli_fname
                                                                   : "libespalier.so";
}

// What makes StarPU find the policy, for a shell. LD_PRELOAD knows no quotes: a path with
// a blank or a colon is looked up by its name.
std::string load_words(const std::string& library, bool has_sched_lib) {
  const auto assigned = [](const std::string& name, const std::string& value) {
    const std::string word = quoted(std::vector{value});
    return fmt::format("{}={}", name, word);
  };
  if (has_sched_lib) return assigned("STARPU_SCHED_LIB", library);
  if (library.find_first_of(" \t\n:") == library.npos)
    return assigned("LD_PRELOAD", library);
  const std::filesystem::path path(library);
  return assigned("LD_LIBRARY_PATH", path.parent_path().string()) + " " +
         assigned("LD_PRELOAD", path.filename().string());
}

void report_starpu(Report& report) {
  int major = 0;
  int minor = 0;
  int release = 0;
  starpu_get_version(&major, &minor, &release);
  const bool has_sched_lib = major > 1 || (major == 1 && minor >= 4);
  report.heading("StarPU");
  report.flag("starpu", "", true);
  report.text("starpu_version", "version",
              fmt::format("{}.{}.{}", major, minor, release));
  report.count("starpu_max_cpus", "workers at most", STARPU_MAXCPUS);
  report.text("policy_library", "policy", policy_library());
  report.text("load", "load it with",
              load_words(policy_library(), has_sched_lib) + " STARPU_SCHED=espalier");
}
#else
void report_starpu(Report& report) {
  report.heading("StarPU");
  report.flag("starpu", "in this build", false);
}
#endif

ExitStatus run_info(bool json) {
  Report report;
  report.text("version", "espalier", ESPALIER_VERSION);
  report_machine(report, this_machine());
  report_starpu(report);
  report.heading("Solver");
  report.text("orderings", "orderings", orderings());
#ifdef ESPALIER_WITH_STARPU
  report.text("kinds", "kinds of matrix", "spd, symmetric, general");
  report.text("precisions", "precisions", "double, single");
#endif
  report_blas(report);
  report.print(json);
  return kDone;
}

}  // namespace

Command add_info(CLI::App* app) {
  auto json = std::make_shared<bool>(false);
  app->description("The machine, the StarPU found, how to load Espalier");
  add_json(*app, *json);
  return {app, [json] { return run_info(*json); }, true};
}

}  // namespace espalier::cli
