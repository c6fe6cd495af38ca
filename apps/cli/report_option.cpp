#include "cli/report_option.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "cli/options.h"
#include "espalier/report/graph_page.h"
#include "espalier/report/layout_page.h"
#include "espalier/report/page.h"

namespace espalier::cli {

CLI::Option* add_report(CLI::App& app, std::string& path) {
  return add_output(app, "--report", path,
                    "Write a page with pictures of the answer here (HTML, opens\n"
                    "without a network)")
      ->type_name("FILE");
}

void write_report(const std::string& path, const PlanInput& input, const Plan& plan,
                  const PlanReport& report) {
  report::PlanPage page;
  page.plan = &plan;
  page.title = report.title;
  page.max_workers = input.max_workers;
  page.ids = input.ids;
  page.rate = report.rate;
  if (const auto& matrix = input.matrix) {
    page.facts.emplace_back("order of the matrix", std::to_string(matrix->size));
    page.facts.emplace_back("kind", name(matrix->kind));
    if (matrix->ordering) page.facts.emplace_back("ordering", name(*matrix->ordering));
  }
  page.facts.emplace_back("order", report.order);
  page.facts.emplace_back("mapping", report.mapping);
  report::write_page(path, page);
}

void write_report(const std::string& path, const std::string& title,
                  const TaskGraph& graph, const GraphOrder& order) {
  report::GraphPage page;
  page.graph = &graph;
  page.title = title;
  page.order = order.order;
  if (std::ranges::is_sorted(graph.topological_order())) {
    page.file_order = graph.topological_order();
  }
  page.lower_bound_bytes = order.lower_bound_bytes;
  page.facts.emplace_back("method", name(order.method));
  report::write_page(path, page);
}

void write_report(const std::string& path, const std::string& title,
                  const LayoutFile& file, const Layout& layout) {
  report::write_page(path, {&file.buffers, &layout, &file.ids, title, {}});
}

}  // namespace espalier::cli
