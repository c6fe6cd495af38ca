#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/plan.h"

namespace espalier::report {

/// A plan and what its page says about it beside the plan's own figures.
struct PlanPage {
  const Plan* plan = nullptr;
  std::string title;                    ///< what was planned; need not be UTF-8
  std::span<const double> max_workers;  ///< as in the PlanOptions of the plan
  std::span<const std::int64_t> ids;    ///< names of the tasks; empty: 0 … n-1
  double rate = 0;                      ///< flops a second of one worker; 0: not known
  /// further lines about the input: what and its value
  std::vector<std::pair<std::string, std::string>> facts;
};

/// What the page draws, as one JSON object: the plan's figures exactly, under the keys
/// of `espalier plan --json`, and pictures of its order, its run and its tree in a size
/// that hardly depends on the tree's. docs/manual/report.md has the keys.
/// @par Cost  O((n + P) log n); some 2 MB at most
[[nodiscard]] std::string data_of(const PlanPage& page);

/// The page around the data, a JSON object: HTML with all that it needs inside, so that
/// it opens without a network.
[[nodiscard]] std::string html(const std::string& data);

/// Writes html(data). @throws FileError
void write_html(const std::string& path, const std::string& data);

/// Writes the page of a plan. @throws FileError
void write_page(const std::string& path, const PlanPage& page);

}  // namespace espalier::report
