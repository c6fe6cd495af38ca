// --report of plan and order: the page is written, and its figures are those printed.

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/program.h"
#include "report/html.h"

namespace espalier::cli_test {
namespace TEST_SOURCE {

using nlohmann::json;

constexpr const char* kTree =
    "10 -1 1 1 1\n"
    "20 10 2 0 1\n"
    "30 10 3 4 1\n";

json data_of(const TemporaryFile& page) {
  return json::parse(report::embedded_data(page.text()), nullptr, false);
}

TEST(ReportPage, OfAPlanHasTheFiguresThatArePrinted) {
  const TemporaryFile tree(kTree), page("");
  const Outcome outcome =
      run({"plan", tree.path(), "--workers", "2", "--report", page.path(), "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json printed = json::parse(outcome.out);
  const json data = data_of(page);
  for (const char* key :
       {"tasks", "workers", "work_flops", "least_bytes", "bound_bytes", "witness_bytes",
        "peak_bytes", "makespan_flops", "lower_bound_flops", "work_bound_flops",
        "critical_path_flops", "memory_area_flops"}) {
    EXPECT_EQ(data["figures"][key], printed[key]) << key;
  }
  EXPECT_EQ(data["title"], tree.path());
  EXPECT_EQ(data["peak"]["task"], 30);
}

TEST(ReportPage, OfAMatrixNamesItsKind) {
  const TemporaryFile page("");
  const Outcome outcome =
      run({"plan", "--grid", "10x10", "--workers", "3", "--report", page.path()});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  EXPECT_EQ(data_of(page)["facts"][1], (json{"kind", "spd"}));
}

TEST(ReportPage, OfAnOrderHasTheFiguresThatArePrinted) {
  // The name tells the format.
  const TemporaryDirectory directory;
  const std::string graph = directory.path() + "/graph.json";
  {
    std::ofstream(graph) << R"({"tensors": {"x": {"size": 5}, "y": {"size": 2}},
        "ops": [{"name": "a", "inputs": ["x"], "outputs": ["y"], "workspace": 1}]})";
  }
  const TemporaryFile page("");
  const Outcome outcome = run({"order", graph, "--report", page.path(), "--json"});
  EXPECT_EQ(outcome.status, 0) << outcome.err;
  const json printed = json::parse(outcome.out);
  const json data = data_of(page);
  EXPECT_EQ(data["figures"]["least_bytes"], 8);
  for (const char* key : {"least_bytes", "lower_bound_bytes", "proved", "operators"}) {
    EXPECT_EQ(data["figures"][key], printed[key]) << key;
  }
  EXPECT_EQ(data["file_order"]["peak_bytes"], printed["file_order_bytes"]);
}

TEST(ReportPage, AFileThatCannotBeWrittenIsNamed) {
  const TemporaryFile tree(kTree);
  const Outcome outcome = run({"plan", tree.path(), "--report", "/nowhere/page.html"});
  EXPECT_EQ(outcome.status, 2);
  EXPECT_EQ(outcome.out, "");
  EXPECT_NE(outcome.err.find("/nowhere/page.html"), std::string::npos) << outcome.err;
}

TEST(ReportPage, OfAComparisonIsRefused) {
  const TemporaryFile tree(kTree);
  const Outcome outcome =
      run({"plan", tree.path(), "--compare", "--report", "page.html"});
  EXPECT_EQ(outcome.status, 2);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::cli_test
