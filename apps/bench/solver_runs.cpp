#include "solver_runs.h"

#include <fmt/format.h>
#include <sys/wait.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <limits>
#include <stdexcept>

#include "espalier/model/clock.h"

namespace espalier::bench {
namespace {

using nlohmann::json;

struct Peer {
  std::string name, label, program, options;
  std::vector<std::string> kinds;
  bool processes = false;  ///< a process for each worker, with one thread
};

const std::vector<Peer>& peers() {
  static const std::vector<std::string> all = {"spd", "symmetric", "general"};
  static const std::vector<Peer> list = {
      {"cholmod", "CHOLMOD", "cholmod_peer", "", {"spd"}},
      {"cholmod-own", "CHOLMOD, own ordering", "cholmod_peer", "--ordering own", {"spd"}},
      {"mumps", "MUMPS, threads", "mumps_peer", "", all},
      {"mumps-mpi", "MUMPS, processes", "mumps_mpi_peer", "", all, true},
      {"mumps-own", "MUMPS, own ordering", "mumps_peer", "--ordering own", all},
      {"mumps-relaxed", "MUMPS, ICNTL(14)=200", "mumps_peer", "--relax 200", all},
      {"mumps-own-relaxed", "MUMPS, own ordering, ICNTL(14)=200", "mumps_peer",
       "--ordering own --relax 200", all},
      {"mumps-mpi-own", "MUMPS, processes, own ordering, ICNTL(14)=200", "mumps_mpi_peer",
       "--ordering own --relax 200", all, true},
      {"umfpack", "UMFPACK", "umfpack_peer", "", {"general"}},
      {"umfpack-own", "UMFPACK, own ordering", "umfpack_peer", "--ordering own", all},
      {"superlu", "SuperLU", "superlu_peer", "--ordering own", all},
      {"superlu-dist", "SuperLU_DIST, processes", "superlu_dist_peer", "--ordering own",
       all, true},
      {"library", "Espalier, library", "espalier_peer", "--ordering own", all},
  };
  return list;
}

// JSON has no infinity; null stands for it.
double number(const json& run, const char* key) {
  const json& value = run.at(key);
  return value.is_null() ? std::numeric_limits<double>::infinity() : value.get<double>();
}

std::string reason(const Ended& ended) {
  const json& printed = ended.printed;
  if (ended.timed_out()) return "timeout";
  if (!printed.is_object()) return "failed";
  if (printed.contains("failure")) return printed.at("failure").get<std::string>();
  if (!printed.value("positive_definite", true)) return "not SPD";
  return "";
}

}  // namespace

Ended run_limited(const std::string& command, int timeout_seconds) {
  const std::string limited =
      fmt::format("timeout --kill-after=5 {} sh -c {}", timeout_seconds, quoted(command));
  FILE* pipe = popen(limited.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("cannot run " + limited);
  std::string output;
  std::array<char, 4096> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), pipe))
    output.append(buffer.data(), got);
  const int status = pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
          json::parse(output, nullptr, false)};
}

Outcome run_command(const std::string& command, int timeout_seconds) {
  const Ended ended = run_limited(command, timeout_seconds);
  Outcome outcome{.json = {}, .failure = reason(ended)};
  if (outcome.failure.empty()) outcome.json = ended.printed;
  return outcome;
}

void Series::run_again(int timeout_seconds) {
  if (!failure.empty()) return;
  Outcome outcome = run_command(way.command, timeout_seconds);
  failure = outcome.failure;
  if (!outcome.json) return;
  if (outcome.json->contains("factor_seconds"))
    runs.push_back(std::move(*outcome.json));
  else
    failure = "refused";  // a bound that does not suffice
}

double Series::median(const char* key) const {
  return median([key](const json& run) { return number(run, key); });
}

double Series::median(const std::function<double(const json&)>& value) const {
  std::vector<double> values;
  for (const json& run : runs) values.push_back(value(run));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

double Series::largest(const char* key) const {
  double value = 0;
  for (const json& run : runs) value = std::max(value, number(run, key));
  return value;
}

double Series::peak_bytes() const {
  return median(runs.front().contains("factor_rss_sum_bytes") ? "factor_rss_sum_bytes"
                                                              : "factor_rss_bytes");
}

bool Series::bound_kept() const {
  return std::all_of(runs.begin(), runs.end(),
                     [](const json& run) { return run.value("bound_kept", true); });
}

std::string program_folder() {
  return std::filesystem::read_symlink("/proc/self/exe").parent_path().string();
}

std::string quoted(const std::string& text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::string choose_blas_kernel() {
  constexpr const char* kVariable = "OPENBLAS_CORETYPE";
  if (const char* chosen = std::getenv(kVariable)) return chosen;
  const Outcome info =
      run_command(quoted(program_folder()) + "/espalier info --json", 60);
  if (!info.json || !info.json->contains("blas_kernel")) return "of its own choice";
  // The program may have started itself again: what it then runs, the peers shall too.
  const std::string kernel = info.json->at("blas_kernel");
  setenv(kVariable, kernel.c_str(), 0);
  return kernel;
}

std::string our_command(const System& system, const std::string& options) {
  const bool grid = system.input.starts_with("grid:");
  const std::string program =
      system.program.empty() ? program_folder() + "/espalier" : system.program;
  return fmt::format("{} solve {} --kind {} --workers {} --json {}", quoted(program),
                     grid ? "--grid " + system.input.substr(5) : quoted(system.input),
                     system.kind, system.workers, options);
}

std::string peer_command(const std::string& program, const System& system,
                         const std::string& options) {
  return fmt::format("OMP_WAIT_POLICY=passive {}/{} {} --kind {} --threads {} {}",
                     quoted(program_folder()), program, quoted(system.input), system.kind,
                     system.workers, options);
}

std::string mpi_command(int processes) {
  return fmt::format(
      "OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "
      "OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_mpi_yield_when_idle=1 "
      "OPENBLAS_NUM_THREADS=1 mpirun -n {}",
      processes);
}

std::vector<std::string> all_peers() {
  std::vector<std::string> names;
  for (const Peer& p : peers()) names.push_back(p.name);
  return names;
}

std::optional<Way> peer(const std::string& name, const System& system) {
  const auto p = std::find_if(peers().begin(), peers().end(),
                              [&](const Peer& each) { return each.name == name; });
  if (p == peers().end()) throw std::invalid_argument("no peer " + name);
  if (std::find(p->kinds.begin(), p->kinds.end(), system.kind) == p->kinds.end() ||
      !std::filesystem::exists(program_folder() + "/" + p->program))
    return std::nullopt;
  if (!p->processes)
    return Way{p->name, p->label, peer_command(p->program, system, p->options)};
  System each = system;
  each.workers = 1;
  return Way{p->name, p->label,
             fmt::format("{} --bind-to none env {}", mpi_command(system.workers),
                         peer_command(p->program, each, p->options))};
}

std::vector<Series> beside_peers(const System& system,
                                 const std::vector<std::string>& peers) {
  std::vector<std::string> names = {"library"};
  names.insert(names.end(), peers.begin(), peers.end());
  std::vector<Series> series;
  for (const std::string& name : names)
    if (auto way = peer(name, system)) {
      way->command += " --heap default --repeat 25";
      series.push_back({*std::move(way), {}, {}});
    }
  return series;
}

void run_in_turns(std::vector<Series>& series, const Turns& turns) {
  const auto start = Clock::now();
  for (int i = 0; i < turns.least || (i < Turns::kMost && since(start) < turns.seconds);
       ++i)
    for (std::size_t k = 0; k < series.size(); ++k)
      series[(i + k) % series.size()].run_again(turns.timeout_seconds);
}

bool useful(const Series& series) {
  return series.solved() && series.largest("backward_error") <= kUseless;
}

json to_json(const std::vector<Series>& series) {
  json ways = json::object();
  for (const Series& s : series)
    ways[s.way.name] = {{"failure", s.failure}, {"runs", s.runs}};
  return ways;
}

}  // namespace espalier::bench
