#include "cli/solve_explain.h"

#include <fmt/format.h>

#include "espalier/report/page.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;
using solver::FrontAtPeak;
using solver::FrontsAtPeak;
using solver::HeldBlock;
using solver::MemoryExplanation;

constexpr std::size_t kMostFronts = 12, kMostBlocks = 6;  // of a table for people

// "22.8 MiB        23900160": in a column, to the byte.
std::string exactly(Bytes bytes) {
  const std::string sign = bytes < 0 ? "-" : "";
  return fmt::format("{:>10}  {:>14}", sign + format_size(bytes < 0 ? -bytes : bytes),
                     bytes);
}

std::string title(const FrontAtPeak& front, bool runs) {
  if (front.node < 0) return "kept by roots";
  const std::string fronts =
      front.fronts > 1 ? fmt::format(", the last of {} in one task", front.fronts) : "";
  return fmt::format("{} {} of order {}{}", runs ? "front" : "waiting for front",
                     front.front, front.order, fronts);
}

void show_front(Report& report, const FrontsAtPeak& fronts, std::size_t k) {
  const FrontAtPeak& front = fronts.chain[k];
  const bool runs = k == 0;
  const Bytes own = runs ? fronts.panel + fronts.contribution + fronts.working : 0;
  report.line("    " + title(front, runs), exactly(own + front.children_bytes));
  for (std::size_t c = 0; c < front.children.size(); ++c) {
    const HeldBlock& block = front.children[c];
    if (c == kMostBlocks && front.children.size() > kMostBlocks + 1) {
      Bytes rest = 0;
      for (; c < front.children.size(); ++c) rest += front.children[c].bytes;
      return report.line(
          fmt::format("      {} more blocks", front.children.size() - kMostBlocks),
          exactly(rest));
    }
    report.line(fmt::format("      block of front {}, {} rows", block.front, block.rows),
                exactly(block.bytes));
  }
}

void show_fronts(Report& report, const FrontsAtPeak& fronts) {
  report.line("the fronts alone, at their peak", exactly(fronts.total()));
  report.line("    factor of fronts that are done", exactly(fronts.factor_before));
  for (std::size_t k = 0; k < fronts.chain.size() && k < kMostFronts; ++k)
    show_front(report, fronts, k);
  Bytes rest = 0;
  for (std::size_t k = kMostFronts; k < fronts.chain.size(); ++k)
    rest += fronts.chain[k].children_bytes;
  if (rest > 0)
    report.line(fmt::format("    waiting for {} more", fronts.chain.size() - kMostFronts),
                exactly(rest));
}

Json json_of(const FrontAtPeak& front) {
  Json children = Json::array();
  for (const HeldBlock& block : front.children)
    children.push_back({{"node", block.node},
                        {"front", block.front},
                        {"rows", block.rows},
                        {"bytes", block.bytes}});
  return {{"node", front.node},
          {"front", front.front},
          {"fronts", front.fronts},
          {"order", front.order},
          {"pivots", front.pivots},
          {"children_bytes", front.children_bytes},
          {"children", std::move(children)}};
}

Json json_of(const ExplainedFigure& figure) {
  const MemoryExplanation& explanation = figure.explanation;
  Json parts = Json::array();
  for (const solver::MemoryPart& part : explanation.parts)
    parts.push_back({{"part", part.key}, {"label", part.label}, {"bytes", part.bytes}});
  Json json = {{"figure", figure.key},
               {"label", figure.label},
               {"bytes", explanation.total},
               {"phase", name(explanation.phase)},
               {"parts", std::move(parts)}};
  if (figure.process) json["process"] = *figure.process;
  if (!explanation.fronts) return json;
  const FrontsAtPeak& fronts = *explanation.fronts;
  Json chain = Json::array();
  for (const FrontAtPeak& front : fronts.chain) chain.push_back(json_of(front));
  json["fronts_bytes"] = fronts.total();
  json["factor_before_bytes"] = fronts.factor_before;
  json["chain_bytes"] = fronts.total() - fronts.factor_before;
  json["own_bytes"] = fronts.panel + fronts.contribution + fronts.working;
  json["chain"] = std::move(chain);
  return json;
}

}  // namespace

Json json_of(const std::vector<ExplainedFigure>& figures) {
  Json all = Json::array();
  for (const ExplainedFigure& figure : figures) all.push_back(json_of(figure));
  return all;
}

void write_explained(const std::string& path, const std::string& title,
                     const std::vector<std::pair<std::string, std::string>>& facts,
                     const std::vector<ExplainedFigure>& figures) {
  Json lines = Json::array();
  for (const auto& [what, value] : facts) lines.push_back({what, value});
  const Json data = {{"kind", "memory"},
                     {"title", title},
                     {"facts", std::move(lines)},
                     {"explain", json_of(figures)}};
  report::write_html(path, dump(data));
}

void report_explained(Report& report, const std::vector<ExplainedFigure>& figures) {
  report.object("explain", json_of(figures));
  for (const ExplainedFigure& figure : figures) {
    const MemoryExplanation& explanation = figure.explanation;
    const std::string where =
        figure.process ? fmt::format(" of process {}", *figure.process) : "";
    report.heading(fmt::format("Why this much memory: {}{}", figure.label, where));
    for (const solver::MemoryPart& part : explanation.parts)
      if (part.bytes != 0) report.line(std::string(part.label), exactly(part.bytes));
    report.line(fmt::format("together, in the {}", name(explanation.phase)),
                exactly(explanation.total));
    if (explanation.fronts) show_fronts(report, *explanation.fronts);
  }
}

}  // namespace espalier::cli
