#include "solver_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

#include "solver_inputs.h"

namespace espalier::bench {
namespace {

using nlohmann::json;

constexpr double kMebi = 1024 * 1024;
constexpr std::array kWidths = {26, 9, 8, 9, 8, 20, 8, 8, 7, 7, 6, 7, 8, 8, 5, 7, 7};

std::optional<double> least_of_peers(const Case& c,
                                     const std::function<double(const Series&)>& value) {
  std::optional<double> least;
  for (const Series& s : c.series)
    if (!s.way.ours() && s.solved() && s.largest("backward_error") <= kUselessError)
      least = std::min(least.value_or(value(s)), value(s));
  return least;
}

std::string ratio(double value, std::optional<double> of) {
  return of && *of > 0 ? fmt::format("{:.2f}", value / *of) : "";
}

std::string kept(const Series& s) {
  if (!s.way.ours() || !s.runs.front().contains("bound_kept")) return "";
  return s.bound_kept() ? "yes" : "NO";
}

Row figures(const Case& c, const Series& s) {
  Row row = {s.way.label};
  if (!s.solved()) {
    row.resize(table_header().size() - 5);
    row[2] = s.failure;
    return row;
  }
  const double seconds = s.median("factor_seconds"), rate = c.flops() / seconds;
  for (const char* key :
       {"analyse_seconds", "factor_seconds", "solve_seconds", "refine_seconds"})
    row.push_back(fmt::format("{:.3f}", s.median(key)));
  row.push_back(fmt::format("{:.1f}", rate / 1e9));
  row.push_back(c.dgemm_rate > 0 ? fmt::format("{:.2f}", rate / c.dgemm_rate) : "");
  row.push_back(fmt::format("{:.1f}", s.peak_bytes() / kMebi));
  row.push_back(fmt::format("{:.1e}", s.largest("backward_error")));
  row.push_back(kept(s));
  row.push_back(ratio(seconds, c.best_peer_seconds()));
  row.push_back(ratio(s.peak_bytes(), c.best_peer_bytes()));
  return row;
}

std::string markdown_row(const Row& row) {
  std::string line = "|";
  for (const std::string& cell : row) line += fmt::format(" {} |", cell);
  return line + "\n";
}

}  // namespace

double Case::flops() const {
  for (const bool ours : {true, false})
    for (const Series& s : series)
      if (s.solved() && s.way.ours() == ours) return s.median("factor_flops");
  return 0;
}

std::optional<double> Case::best_peer_seconds() const {
  return least_of_peers(*this,
                        [](const Series& s) { return s.median("factor_seconds"); });
}

std::optional<double> Case::best_peer_bytes() const {
  return least_of_peers(*this, [](const Series& s) { return s.peak_bytes(); });
}

Case::Case(const System& system, const nlohmann::json& facts, std::vector<Series> ways)
    : name(short_name(system.input)),
      kind(system.kind),
      size(facts.at("size")),
      entries(facts.at("entries")),
      series(std::move(ways)) {}

void Case::run(int repeat, int timeout_seconds) {
  for (int i = 0; i < repeat; ++i)
    for (Series& each : series) each.run_again(timeout_seconds);
}

bool Case::good() const {
  return std::all_of(series.begin(), series.end(), [this](const Series& s) {
    return !s.way.ours() || (s.solved() && s.bound_kept() &&
                             s.largest("backward_error") <= error_limit(kind));
  });
}

double error_limit(const std::string& kind) { return kind == "spd" ? 1e-14 : 1e-12; }

Row table_header() {
  return {"matrix",  "kind",   "n",     "entries", "flops", "solver",
          "analyse", "factor", "solve", "refine",  "GF/s",  "/dgemm",
          "MiB",     "error",  "kept",  "time/p",  "mem/p"};
}

std::vector<Row> table_rows(const Case& c) {
  std::vector<Row> rows;
  for (const Series& s : c.series) {
    Row row = rows.empty()
                  ? Row{c.name, c.kind, std::to_string(c.size), std::to_string(c.entries),
                        c.flops() > 0 ? fmt::format("{:.1e}", c.flops()) : ""}
                  : Row(5);
    const Row more = figures(c, s);
    row.insert(row.end(), more.begin(), more.end());
    rows.push_back(std::move(row));
  }
  return rows;
}

void print_row(const Row& row) {
  for (std::size_t i = 0; i < row.size(); ++i)
    if (i == 0 || i == 1 || i == 5)
      fmt::print("{:<{}} ", row[i], kWidths[i]);
    else
      fmt::print("{:>{}} ", row[i], kWidths[i]);
  fmt::print("\n");
  std::fflush(stdout);
}

std::string markdown(const std::vector<Case>& cases) {
  std::string text = markdown_row(table_header());
  text += markdown_row(Row(table_header().size(), "---"));
  for (const Case& c : cases)
    for (const Row& row : table_rows(c)) text += markdown_row(row);
  return text;
}

json to_json(const Case& c) {
  json ways = json::object();
  for (const Series& s : c.series)
    ways[s.way.name] = {{"label", s.way.label},
                        {"command", s.way.command},
                        {"failure", s.failure},
                        {"runs", s.runs}};
  return {{"matrix", c.name},     {"kind", c.kind},     {"size", c.size},
          {"entries", c.entries}, {"flops", c.flops()}, {"dgemm_rate", c.dgemm_rate},
          {"ways", ways}};
}

}  // namespace espalier::bench
