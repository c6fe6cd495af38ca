#include "peer_run.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "espalier/model/processor_time.h"
#include "solver/memory/process_memory.h"

extern "C" __attribute__((weak)) void openblas_set_num_threads(int threads);

namespace espalier::bench {
namespace {

// Bytes that this process has handed to write() so far.
std::int64_t bytes_written() {
  std::ifstream io("/proc/self/io");
  std::string key;
  std::int64_t value = 0;
  while (io >> key >> value)
    if (key == "wchar:") return value;
  return 0;
}

nlohmann::json to_json(const PeerResult& result) {
  if (!result.failure.empty())
    return {{"failure", result.failure}, {"note", result.note}};
  return {{"ordering_seconds", result.ordering_seconds},
          {"analyse_seconds", result.analyse_seconds},
          {"factor_seconds", result.factor_seconds},
          {"solve_seconds", result.solve_seconds},
          {"refine_seconds", result.refine_seconds},
          {"processor_seconds", result.processor_seconds},
          {"factor_rss_bytes", result.factor_rss_bytes},
          {"factor_rss_sum_bytes", result.factor_rss_sum_bytes},
          {"counted_peak_bytes", result.counted_peak_bytes},
          {"bytes_written", result.bytes_written},
          {"factor_flops", result.factor_flops},
          {"backward_error", result.backward_error},
          {"note", result.note}};
}

}  // namespace

void ProcessorTimer::resume() {
  since_ = process_seconds();
  runs_ = true;
}

void ProcessorTimer::pause() {
  total_ = seconds();
  runs_ = false;
}

double ProcessorTimer::seconds() const {
  return total_ + (runs_ ? process_seconds() - since_ : 0);
}

void set_blas_threads(int threads) {
  if (openblas_set_num_threads != nullptr) openblas_set_num_threads(threads);
}

Measured measure(const std::function<void()>& call) {
  solver::trim_heap();
  const espalier::Bytes baseline = solver::resident_bytes();
  solver::reset_peak_resident();
  const std::int64_t written = bytes_written();
  const auto start = Clock::now();
  call();
  Measured result;
  result.seconds = since(start);
  result.growth = solver::peak_resident_bytes() - baseline;
  result.written = bytes_written() - written;
  return result;
}

int peer_main(int argc, char** argv, const std::function<PeerResult(PeerOptions)>& solve,
              bool prints) {
  PeerOptions options;
  CLI::App app("One solver on one system; prints JSON");
  app.add_option("INPUT", options.input,
                 "Matrix Market file, grid:NXxNYxNZ, pattern:NAME")
      ->required();
  app.add_option("--kind", options.kind)
      ->check(CLI::IsMember({"spd", "symmetric", "general"}));
  app.add_option("--threads", options.threads, "BLAS threads of a process")
      ->check(CLI::Range(1, 1024));
  app.add_option("--ordering", options.ordering, "METIS as given, or the library's own")
      ->check(CLI::IsMember({"given", "own"}));
  app.add_option("--heap", options.heap, "Freed memory: given back, or as by default")
      ->check(CLI::IsMember({"small", "default"}));
  app.add_option("--out-of-core", options.out_of_core, "Folder for the factors")
      ->check(CLI::ExistingDirectory);
  app.add_option("--memory", options.memory_mib, "Bound of a process, MB")
      ->check(CLI::PositiveNumber);
  app.add_option("--relax", options.relax, "MUMPS: per cent added to its workspace")
      ->check(CLI::PositiveNumber);
  CLI11_PARSE(app, argc, argv);
  try {
    if (options.heap == "small") solver::keep_heap_small();
    const PeerResult result = solve(options);
    if (prints) fmt::print("{}\n", to_json(result).dump());
    return result.failure.empty() ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}: {}\n", argv[0], error.what());
    return 2;
  }
}

}  // namespace espalier::bench
