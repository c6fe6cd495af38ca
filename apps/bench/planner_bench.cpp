// All benchmarks of the planner, and at their end what grows how: for every subject its
// time and memory at the largest size, and the exponent of growth between the last two.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <malloc.h>

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/machine/process_memory.h"

namespace espalier {
namespace {

/// Growth of the resident set, input included: its peak while a benchmark runs less what
/// was resident before.
class ResidentMemory : public benchmark::MemoryManager {
 public:
  void Start() override {
    malloc_trim(0);
    std::ofstream("/proc/self/clear_refs") << 5;  // VmHWM starts over
    before_ = process_memory().vm_rss.value_or(0);
  }
  void Stop(Result& result) override {
    result.max_bytes_used = process_memory().vm_hwm.value_or(0) - before_;
  }
#ifdef BENCHMARK_DEPRECATED_MSG
  void Stop(Result* result) override { Stop(*result); }
#endif

 private:
  Bytes before_ = 0;
};

class GrowthReporter : public benchmark::ConsoleReporter {
 public:
  void ReportRuns(const std::vector<Run>& runs) override {
    ConsoleReporter::ReportRuns(runs);
    for (const Run& run : runs) {
      if (run.run_type != Run::RT_Iteration || run.iterations == 0) continue;
      const std::string& arguments = run.run_name.args;
      const double size = std::strtod(arguments.c_str(), nullptr);
      if (size <= 0 || arguments.find('/') != std::string::npos) continue;
      Point& point = points_[run.run_name.function_name][size];
      point.seconds = run.GetAdjustedCPUTime() *
                      benchmark::GetTimeUnitMultiplier(benchmark::kSecond) /
                      benchmark::GetTimeUnitMultiplier(run.time_unit);
      if (run.memory_result != nullptr) point.bytes = run.memory_result->max_bytes_used;
    }
  }

  void Finalize() override {
    ConsoleReporter::Finalize();
    if (points_.empty()) return;
    fmt::print("\n{:<44} {:>9} {:>9} {:>9} {:>7}\n", "growth", "size", "cpu, s", "MiB",
               "n^");
    for (const auto& [name, sizes] : points_) {
      const auto& [size, last] = *sizes.rbegin();
      std::string exponent = "-";
      if (sizes.size() > 1) {
        const auto& [smaller, before] = *std::next(sizes.rbegin());
        exponent = fmt::format(
            "{:.2f}", std::log(last.seconds / before.seconds) / std::log(size / smaller));
      }
      fmt::print("{:<44} {:>9.0f} {:>9.3g} {:>9.1f} {:>7}\n", name, size, last.seconds,
                 static_cast<double>(last.bytes) / (1 << 20), exponent);
    }
  }

 private:
  struct Point {
    double seconds = 0;
    std::int64_t bytes = 0;
  };
  std::map<std::string, std::map<double, Point>> points_;
};

// With another format on standard output nothing else may be there.
bool prints_to_people(int argc, char** argv) {
  constexpr std::string_view kFormat = "--benchmark_format=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (argument.starts_with(kFormat))
      return argument.substr(kFormat.size()) == "console";
  }
  return true;
}

}  // namespace
}  // namespace espalier

int main(int argc, char** argv) {
  const bool to_people = espalier::prints_to_people(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  espalier::ResidentMemory memory;
  benchmark::RegisterMemoryManager(&memory);
  espalier::GrowthReporter reporter;
  if (to_people)
    benchmark::RunSpecifiedBenchmarks(&reporter);
  else
    benchmark::RunSpecifiedBenchmarks();
  benchmark::RegisterMemoryManager(nullptr);
  benchmark::Shutdown();
}
