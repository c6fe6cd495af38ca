#include "cluster_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace espalier::bench {
namespace {

using nlohmann::json;

constexpr double kMebi = 1024 * 1024;
constexpr std::array kWidths = {24, 9, 3, 6, 8, 8, 7, 8, 8, 7, 6, 9, 6, 8, 8, 8, 8, 4};
constexpr std::size_t kLeft = 2;  // columns aligned to the left

std::string our_name(int processes, const std::string& memory) {
  return fmt::format("espalier-{}-{}", processes, memory);
}

std::string peer_name(int processes) { return fmt::format("mumps-{}", processes); }

// The series of that name, where it solved the system.
const Series* solved(const Case& c, const std::string& name) {
  const auto found =
      std::find_if(c.series.begin(), c.series.end(),
                   [&](const Series& each) { return each.way.name == name; });
  if (found == c.series.end() || !found->solved()) return nullptr;
  const bool useless =
      !found->way.ours() && found->largest("backward_error") > kUselessError;
  return useless ? nullptr : &*found;
}

std::string failure_of(const Case& c, const std::string& name) {
  for (const Series& each : c.series)
    if (each.way.name == name)
      return each.failure.empty() && !each.runs.empty() ? "useless" : each.failure;
  return "";
}

// Of the process that grows most: each program prints it under the same key.
double growth(const Series& s) { return s.median("factor_rss_bytes"); }

std::string cell(std::optional<double> value, int digits) {
  return value ? fmt::format("{:.{}f}", *value, digits) : "";
}

std::optional<double> ratio(double value, double of) {
  return of > 0 ? std::optional(value / of) : std::nullopt;
}

std::optional<double> efficiency(const Series* one, const Series& s, int processes) {
  return one == nullptr ? std::nullopt : ratio(growth(*one), processes * growth(s));
}

// A process on its own sends nothing, and its report does not mention it.
std::optional<double> printed(const Series& s, const char* key) {
  if (!s.runs.front().contains(key)) return std::nullopt;
  return s.median([key](const json& run) {
    const json& value = run.at(key);
    if (!value.is_array()) return value.get<double>();
    double sum = 0;
    for (const json& each : value) sum += each.get<double>();
    return sum;
  });
}

// MUMPS's columns: seconds over ours, bytes under, as the better is asked for.
struct Beside {
  std::string seconds = {}, speed = {}, bytes = {}, size = {};
  std::string efficiency = {}, flops = {};
};

Beside beside(const Case& c, const Series& ours, int processes) {
  const std::string name = peer_name(processes);
  const Series* const peer = solved(c, name);
  if (peer == nullptr) return {.seconds = failure_of(c, name)};
  const double seconds = peer->median("factor_seconds");
  return {
      cell(seconds, 3),
      cell(ratio(seconds, ours.median("factor_seconds")), 2),
      cell(growth(*peer) / kMebi, 1),
      cell(ratio(growth(ours), growth(*peer)), 2),
      cell(efficiency(solved(c, peer_name(1)), *peer, processes), 2),
      cell(ratio(peer->median("factor_flops"), ours.median("factor_flops")), 2),
  };
}

std::string kept(const Series& s) {
  if (!s.runs.front().contains("bound_kept")) return "";
  return s.bound_kept() ? "yes" : "NO";
}

Row figures(const Case& c, int processes, const std::string& memory) {
  const std::string name = our_name(processes, memory);
  const Series* const s = solved(c, name);
  if (s == nullptr) {
    Row row = {failure_of(c, name)};
    row.resize(cluster_header().size() - 4);
    return row;
  }
  const Beside peer = beside(c, *s, processes);
  const auto sent = printed(*s, "process_sent_bytes");
  return {
      cell(s->median("factor_seconds"), 3),
      peer.seconds,
      peer.speed,
      cell(growth(*s) / kMebi, 1),
      peer.bytes,
      peer.size,
      cell(efficiency(solved(c, our_name(1, memory)), *s, processes), 2),
      cell(printed(*s, "memory_efficiency"), 2),
      peer.efficiency,
      peer.flops,
      sent ? cell(*sent / kMebi, 1) : "",
      cell(printed(*s, "messages"), 0),
      fmt::format("{:.1e}", s->largest("backward_error")),
      kept(*s),
  };
}

}  // namespace

std::vector<Series> cluster_ways(const System& system, const ClusterCounts& counts) {
  System each = system;
  each.workers = 1;
  std::vector<Series> series;
  for (const int processes : counts.processes)
    for (const std::string& memory : counts.memory)
      series.push_back(
          {{our_name(processes, memory), fmt::format("Espalier, {}", memory),
            fmt::format("{} {}", mpi_command(processes),
                        our_command(each, "--ordering metis --memory " + memory))},
           {},
           {}});
  for (const int processes : counts.peer_processes) {
    each.workers = processes;
    if (const auto way = peer("mumps-mpi", each))
      series.push_back({{peer_name(processes), way->label, way->command}, {}, {}});
  }
  return series;
}

Row cluster_header() {
  return {"problem", "kind",    "P",        "memory",   "factor", "MUMPS",
          "M/ours",  "MiB",     "M MiB",    "ours/M",   "e(P)",   "predicted",
          "M e(P)",  "M flops", "sent MiB", "messages", "error",  "kept"};
}

std::vector<Row> cluster_rows(const Case& c, const ClusterCounts& counts) {
  std::vector<Row> rows;
  for (const int processes : counts.processes)
    for (const std::string& memory : counts.memory) {
      Row row = {rows.empty() ? c.name : "", rows.empty() ? c.kind : "",
                 std::to_string(processes), memory};
      const Row more = figures(c, processes, memory);
      row.insert(row.end(), more.begin(), more.end());
      rows.push_back(std::move(row));
    }
  return rows;
}

void print_cluster_row(const Row& row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    fmt::print(fmt::runtime(i < kLeft ? "{:<{}} " : "{:>{}} "), row[i], kWidths[i]);
  fmt::print("\n");
  std::fflush(stdout);
}

std::string cluster_markdown(const std::vector<Row>& rows) {
  std::string text;
  for (const Row& row : rows) {
    text += "|";
    for (const std::string& each : row) text += fmt::format(" {} |", each);
    text += "\n";
    if (&row != &rows.front()) continue;
    for (std::size_t i = 0; i < row.size(); ++i) text += i == 0 ? "| --- |" : " --- |";
    text += "\n";
  }
  return text;
}

}  // namespace espalier::bench
