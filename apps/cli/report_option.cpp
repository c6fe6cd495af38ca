#include "cli/report_option.h"

#include "espalier/report/page.h"

namespace espalier::cli {

CLI::Option* add_report(CLI::App& app, std::string& path) {
  return app
      .add_option("--report", path,
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

}  // namespace espalier::cli
