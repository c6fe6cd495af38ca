#include "policy/core/rank_summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <vector>

namespace espalier::policy {

namespace {

constexpr std::size_t kProcessesShown = 16;

std::string size_or_unknown(Bytes bytes) {
  return bytes == RankFigures::kUnknown ? "unknown" : format_size(bytes);
}

// "4 processes", or the ranks that it holds for when they are not all.
std::string headline(const std::vector<RankFigures>& ranks, int processes) {
  std::vector<std::int64_t> broken;
  Bytes largest = RankFigures::kUnknown;
  for (const RankFigures& r : ranks) {
    if (r.bound != RankFigures::kUnknown && r.kept == 0) broken.push_back(r.rank);
    largest = std::max(largest, r.bound);
  }
  if (largest == RankFigures::kUnknown)
    return fmt::format("espalier: {} processes, no memory bound", processes);
  const bool all = ranks.size() == static_cast<std::size_t>(processes);
  if (broken.empty())
    return fmt::format(
        "espalier: the memory bound of {} a process was kept in {} {} "
        "processes",
        format_size(largest), all ? "all" : "those that reported of", processes);
  std::string text =
      fmt::format("espalier: the memory bound of {} a process was NOT kept in rank {}",
                  format_size(largest), broken.front());
  if (broken.size() > 1) text += fmt::format(" and {} more", broken.size() - 1);
  return text;
}

void add_row(std::string& text, const RankFigures& r) {
  fmt::format_to(std::back_inserter(text), "  {:>6}  {:>11}  {:>11}  {:>11}  {:>11}\n",
                 r.rank, format_size(r.booked_peak), size_or_unknown(r.allocated_peak),
                 size_or_unknown(r.vm_hwm), format_size(r.received_bytes));
}

// The first process with the most.
template <class Figure>
std::string largest(const std::vector<RankFigures>& ranks, Figure figure) {
  const auto most = std::max_element(
      ranks.begin(), ranks.end(),
      [&](const auto& a, const auto& b) { return a.*figure < b.*figure; });
  return (*most).*figure == RankFigures::kUnknown ? "-"
                                                  : fmt::format("rank {}", most->rank);
}

}  // namespace

RankFigures figures_of(const RunReport& report, int rank) {
  RankFigures figures;
  figures.rank = rank;
  figures.ran = 1;
  figures.kept = bound_kept(report).value_or(true) ? 1 : 0;
  figures.bound = report.bound.value_or(RankFigures::kUnknown);
  figures.booked_peak = report.booked_peak;
  figures.allocated_peak = report.allocated_peak.value_or(RankFigures::kUnknown);
  figures.vm_hwm = report.vm_hwm.value_or(RankFigures::kUnknown);
  figures.received_bytes = report.received_bytes;
  return figures;
}

std::string summary_text(std::span<const RankFigures> reported, int processes) {
  std::vector<RankFigures> ranks;
  for (const RankFigures& r : reported)
    if (r.ran != 0) ranks.push_back(r);
  if (ranks.empty()) return fmt::format("espalier: no process of {} ran it\n", processes);
  std::sort(ranks.begin(), ranks.end(),
            [](const auto& a, const auto& b) { return a.rank < b.rank; });
  std::string text = headline(ranks, processes) + '\n';
  const auto header = [&](auto... columns) {
    fmt::format_to(std::back_inserter(text), "  {:>6}  {:>11}  {:>11}  {:>11}  {:>11}\n",
                   columns...);
  };
  header("rank", "booked", "allocated", "VmHWM", "received");
  for (std::size_t i = 0; i < std::min(kProcessesShown, ranks.size()); ++i)
    add_row(text, ranks[i]);
  if (ranks.size() > kProcessesShown)
    text += fmt::format("  and {} more\n", ranks.size() - kProcessesShown);
  header("most", largest(ranks, &RankFigures::booked_peak),
         largest(ranks, &RankFigures::allocated_peak),
         largest(ranks, &RankFigures::vm_hwm),
         largest(ranks, &RankFigures::received_bytes));
  if (const auto missing = static_cast<std::size_t>(processes) - ranks.size();
      ranks.size() < static_cast<std::size_t>(processes))
    text += fmt::format("  {} of {} processes reported nothing\n", missing, processes);
  return text;
}

}  // namespace espalier::policy
