// What users have for checkpointing today, beside planner_bench_checkpoint.cpp. Nothing
// of it is part of this project; each is measured where it can be found:
//   ESPALIER_BENCH_REVOLVE  a shared library of pyrevolve's src/revolve.cpp and
//                           src/revolve_c.cpp (g++ -O2 -shared -fPIC)
//   ESPALIER_BENCH_PYTHON   an interpreter that has the package checkpoint_schedules

#include <benchmark/benchmark.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

namespace espalier {
namespace {

// The part of its C interface that runs through a schedule.
struct RevolveLibrary {
  struct Handle {
    void* pointer;
  };
  static constexpr int kTerminate = 5, kError = 6;
  Handle (*create)(int steps, int slots);
  int (*next)(Handle);
  void (*destroy)(Handle);
};

template <class Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  return function != nullptr;
}

void bench_revolve_library(benchmark::State& state, const std::string& path, int slots) {
  RevolveLibrary library{};
  void* const handle = dlopen(path.c_str(), RTLD_NOW);
  if (handle == nullptr || !find(handle, "revolve_create_offline", library.create) ||
      !find(handle, "revolve", library.next) ||
      !find(handle, "revolve_destroy", library.destroy)) {
    return state.SkipWithError(dlerror());
  }
  std::int64_t actions = 0;
  for (auto _ : state) {
    const auto schedule = library.create(static_cast<int>(state.range(0)), slots);
    for (int action = 0; action != RevolveLibrary::kTerminate; ++actions) {
      action = library.next(schedule);
      if (action == RevolveLibrary::kError) return state.SkipWithError("its error");
    }
    library.destroy(schedule);
  }
  state.SetItemsProcessed(actions);
  state.counters["an_action"] =
      benchmark::Counter(static_cast<double>(actions),
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

// Processor time inside the interpreter, without its start.
void bench_python(benchmark::State& state, const std::string& interpreter) {
  const std::string command = fmt::format(
      "{} -c 'import time; from checkpoint_schedules import HRevolve; "
      "t = time.process_time(); HRevolve({}, 10, 20, 1, 2, 5, 4); "
      "print(time.process_time() - t)'",
      interpreter, state.range(0));
  for (auto _ : state) {
    std::FILE* const out = popen(command.c_str(), "r");
    double seconds = 0;
    const bool read = out != nullptr && std::fscanf(out, "%lf", &seconds) == 1;
    if (out == nullptr || pclose(out) != 0 || !read)
      return state.SkipWithError("the interpreter failed");
    state.SetIterationTime(seconds);
  }
}

[[maybe_unused]] const bool registered = [] {
  if (const char* path = std::getenv("ESPALIER_BENCH_REVOLVE")) {
    for (const int slots : {20, 100}) {
      benchmark::RegisterBenchmark(fmt::format("peer_pyrevolve_{}_slots", slots).c_str(),
                                   [path, slots](benchmark::State& state) {
                                     bench_revolve_library(state, path, slots);
                                   })
          ->Arg(1'000'000)
          ->Unit(benchmark::kMillisecond);
    }
  }
  if (const char* path = std::getenv("ESPALIER_BENCH_PYTHON")) {
    benchmark::RegisterBenchmark(
        "peer_checkpoint_schedules_10_20",
        [path](benchmark::State& state) { bench_python(state, path); })
        ->Arg(400)
        ->Iterations(1)
        ->UseManualTime()
        ->Unit(benchmark::kMillisecond);
  }
  return true;
}();

}  // namespace
}  // namespace espalier
