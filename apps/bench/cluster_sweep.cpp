#include "cluster_sweep.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <limits>
#include <optional>
#include <stdexcept>

#include "solver_inputs.h"
#include "solver_runs.h"
#include "solver_table.h"

namespace espalier::bench {
namespace {

using nlohmann::json;

constexpr double kMebi = 1024 * 1024;
constexpr std::size_t kMessage = 2000;  // characters shown of what a run said, the last
// StarPU ends a program in which no task has ended for so long, instead of waiting.
constexpr const char* kWatchdog =
    "STARPU_WATCHDOG_TIMEOUT=30000000 STARPU_WATCHDOG_CRASH=1";

// What a run writes to standard error.
class Messages {
 public:
  Messages() {
    const int file = mkstemp(name_.data());
    if (file < 0) throw std::runtime_error("cannot make a temporary file");
    close(file);
  }
  ~Messages() { std::remove(name_.data()); }
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  [[nodiscard]] std::string redirection() const {
    return fmt::format("2>{}", name_.data());
  }
  [[nodiscard]] std::string text() const {
    std::ifstream file(name_.data());
    std::string all(std::istreambuf_iterator<char>(file), {});
    return all.size() > kMessage ? "…" + all.substr(all.size() - kMessage) : all;
  }

 private:
  std::array<char, 32> name_ = {"/tmp/cluster_sweep_XXXXXX"};
};

struct Run {
  System system;
  int processes = 1;
  std::string memory;

  [[nodiscard]] std::string command() const {
    const std::string ours = our_command(system, "--memory " + memory);
    const std::string start = processes > 1 ? mpi_command(processes) + " " : "";
    return fmt::format("{} {}{}", kWatchdog, start, ours);
  }
};

// JSON has no infinity; null stands for it, as nothing does.
double number(const json& printed, const char* key) {
  const auto found = printed.find(key);
  if (found == printed.end() || !found->is_number())
    return std::numeric_limits<double>::infinity();
  return found->get<double>();
}

std::vector<double> peaks(const json& printed) {
  if (printed.contains("process_peak_rss_bytes"))
    return printed.at("process_peak_rss_bytes").get<std::vector<double>>();
  return {number(printed, "peak_rss_bytes")};
}

// What must agree between runs that both do not answer with a solution to be trusted.
json verdict(const Ended& ended) {
  json out = {{"code", ended.code}};
  if (ended.printed.is_object())
    for (const char* key : {"trusted", "null_space", "positive_definite", "feasible"})
      if (ended.printed.contains(key)) out[key] = ended.printed.at(key);
  return out;
}

// Why the solution is wrong; empty: it is right.
std::string fault_of_solution(const Ended& ended) {
  const json& printed = ended.printed;
  if (ended.code != 0) return fmt::format("exit status {}", ended.code);
  if (!printed.is_object() || !printed.contains("kind")) return "no report";
  const double error = number(printed, "backward_error");
  if (!(error <= error_limit(printed.at("kind").get<std::string>())))
    return fmt::format("backward error {:.1e}", error);
  return "";
}

// Why the bound was not kept; empty: it was, or there is none.
std::string fault_of_memory(const Run& run, const json& printed) {
  if (!printed.is_object() || !printed.contains("factor_seconds")) return "";
  if (!printed.contains("bound_bytes"))
    return run.memory == "none" ? "" : "no bound in the report";
  const double bound = number(printed, "bound_bytes");
  const std::vector<double> peak = peaks(printed);
  for (std::size_t i = 0; i < peak.size(); ++i)
    if (!(peak[i] <= bound))
      return fmt::format("peak of process {} {:.0f} above the bound {:.0f}", i, peak[i],
                         bound);
  return printed.value("bound_kept", false) ? "" : "bound not kept";
}

std::string fault_of_processes(const Run& run, const json& printed) {
  if (!printed.is_object() || !printed.contains("factor_seconds") || run.processes == 1)
    return "";
  const double processes = number(printed, "processes");
  if (processes == run.processes && std::ssize(peaks(printed)) == run.processes)
    return "";
  return fmt::format("a report of {} processes and {} peaks", processes,
                     peaks(printed).size());
}

// The wrong solution is excused where one process has the same verdict.
struct Judge {
  int timeout;
  std::optional<Ended> alone = {};  ///< the last system, on one process without a bound

  std::string fault(const Run& run, const Ended& ended) {
    if (ended.timed_out()) return "timeout";
    for (const std::string& each :
         {fault_of_memory(run, ended.printed), fault_of_processes(run, ended.printed)})
      if (!each.empty()) return each;
    std::string wrong = fault_of_solution(ended);
    if (wrong.empty() || ended.code == 0) return wrong;
    if (!alone)
      alone = run_limited(Run{run.system, 1, "none"}.command() + " 2>/dev/null", timeout);
    const json one = verdict(*alone), several = verdict(ended);
    if (alone->code != 0 && ended.printed.is_object() && one == several) return "";
    return fmt::format("{}; this run {}, one process {}", wrong, several.dump(),
                       one.dump());
  }
};

void print_line(const Run& run, const Ended& ended, const std::string& fault) {
  std::string figures;
  if (ended.printed.is_object() && ended.printed.contains("factor_seconds")) {
    const std::vector<double> peak = peaks(ended.printed);
    figures = fmt::format("{:8.3f} s {:8.1e} {:9.1f} MiB",
                          number(ended.printed, "factor_seconds"),
                          number(ended.printed, "backward_error"),
                          *std::max_element(peak.begin(), peak.end()) / kMebi);
    if (ended.printed.contains("bound_bytes"))
      figures += fmt::format(" of {:9.1f}", number(ended.printed, "bound_bytes") / kMebi);
  }
  const std::string verdict = !fault.empty()    ? "WRONG: " + fault
                              : ended.code != 0 ? "not trusted, as by one process"
                                                : "right";
  fmt::print("{:<34} {:<9} {:2} x {} {:>5} {:<46} {}\n", short_name(run.system.input),
             run.system.kind, run.processes, run.system.workers, run.memory, figures,
             verdict);
}

// @return whether it is right
bool try_run(const Run& run, Judge& judge) {
  const Messages messages;
  const Ended ended =
      run_limited(run.command() + " " + messages.redirection(), judge.timeout);
  const std::string fault = judge.fault(run, ended);
  print_line(run, ended, fault);
  if (!fault.empty()) fmt::print("  {}\n{}\n", run.command(), messages.text());
  std::fflush(stdout);
  return fault.empty();
}

}  // namespace

int run_sweep(const Sweep& sweep) {
  int runs = 0, wrong = 0;
  for (const std::string& input : expand_folders(sweep.inputs))
    for (const std::string& kind : sweep.kinds)
      for (const int workers : sweep.workers) {
        Judge judge{sweep.timeout};
        for (const int processes : sweep.processes)
          for (const std::string& memory : sweep.memory) {
            const System system{input, kind, workers, sweep.program};
            ++runs;
            if (!try_run({system, processes, memory}, judge)) ++wrong;
          }
      }
  fmt::print("{} runs, {} wrong\n", runs, wrong);
  return wrong;
}

}  // namespace espalier::bench
