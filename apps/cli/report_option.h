#pragma once

#include <string>

#include "cli/cli_types.h"
#include "cli/plan_input.h"
#include "espalier/io/layout_csv.h"
#include "espalier/model/layout.h"
#include "espalier/model/plan.h"
#include "espalier/sequential/dag/order_graph.h"

namespace espalier::cli {

/// --report: a page that shows the answer; empty when it was not asked for.
CLI::Option* add_report(CLI::App& app, std::string& path);

/// What the page of a plan says beside the plan.
struct PlanReport {
  std::string title;           ///< the input
  double rate = 0;             ///< flops a second of one worker; 0: not known
  std::string order, mapping;  ///< names of what was asked for
};

/// Write the page (docs/manual/report.md). @throws FileError
void write_report(const std::string& path, const PlanInput& input, const Plan& plan,
                  const PlanReport& report);

void write_report(const std::string& path, const std::string& title,
                  const TaskGraph& graph, const GraphOrder& order);

void write_report(const std::string& path, const std::string& title,
                  const LayoutFile& file, const Layout& layout);

}  // namespace espalier::cli
