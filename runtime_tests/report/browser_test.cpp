// The page in headless Chromium: it draws, by script and by keyboard.

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "espalier/model/graph_builder.h"
#include "espalier/report/graph_page.h"
#include "espalier/report/page.h"
#include "espalier/report/pipeline_page.h"
#include "report/plans.h"
#include "support/tree_shapes.h"

namespace espalier::report {
namespace TEST_SOURCE {

namespace fs = std::filesystem;

std::string found_browser() {
  const char* path = std::getenv("PATH");
  std::string directories = path == nullptr ? "" : path;
  while (!directories.empty()) {
    const std::string directory = directories.substr(0, directories.find(':'));
    directories.erase(0, directory.size() + 1);
    for (const char* name : {"chromium", "chromium-browser", "google-chrome"}) {
      const fs::path program = fs::path(directory) / name;
      if (fs::exists(program)) return program.string();
    }
  }
  return {};
}

class Browser : public testing::Test {
 protected:
  void SetUp() override {
    browser_ = found_browser();
    if (browser_.empty()) GTEST_SKIP() << "no Chromium in PATH: the page was not opened";
    std::string name = (fs::temp_directory_path() / "espalier-page-XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override {
    if (!directory_.empty()) fs::remove_all(directory_);
  }

  /// The document after its scripts and then `script` have run.
  std::string opened(std::string page, const std::string& script) {
    const std::string end = "</body>";
    page.insert(page.rfind(end), "<script>\n" + script + "\n</script>\n");
    std::ofstream(directory_ / "page.html") << page;
    const std::string command = fmt::format(
        "timeout 100 '{0}' --headless=new --no-sandbox --disable-gpu "
        "--disable-dev-shm-usage --user-data-dir='{1}/user' --window-size=1200,2000 "
        "--virtual-time-budget=5000 --dump-dom 'file://{1}/page.html' 2>/dev/null",
        browser_, directory_.string());
    FILE* pipe = popen(command.c_str(), "r");
    if (pipe == nullptr) return {};
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t got = 0; (got = fread(buffer.data(), 1, buffer.size(), pipe)) > 0;) {
      text.append(buffer.data(), got);
    }
    pclose(pipe);
    return text;
  }

 private:
  std::string browser_;
  fs::path directory_;
};

// Puts what the page answers where the dump shows it.
constexpr const char* kProbe = R"(
const said = [];
const press = (node, key) =>
  node.dispatchEvent(new KeyboardEvent("keydown", {key, bubbles: true}));
const tell = () => {
  const result = document.createElement("p");
  result.id = "result";
  result.textContent = said.join("|");
  document.body.append(result);
};
)";

std::string result_of(const std::string& dom) {
  const std::string open = "<p id=\"result\">";
  const std::size_t at = dom.find(open);
  if (at == std::string::npos) return "no result in " + dom.substr(0, 2000);
  const std::size_t from = at + open.size();
  return dom.substr(from, dom.find("</p>", from) - from);
}

std::string drawn_page() {
  const Plan plan = drawn_plan(7);
  return html(data_of({&plan, "drawn tree", {}, {}, 0, {}}));
}

TEST_F(Browser, DrawsThePageWithoutAnError) {
  const std::string dom = opened(drawn_page(), std::string(kProbe) + R"(
said.push(document.body.dataset.ready);
said.push(document.title);
said.push(document.querySelectorAll("canvas").length);
said.push(document.getElementById("answer").textContent.includes("at most 7 B"));
said.push(document.querySelectorAll("[role=treegrid] tbody tr").length);
tell();)");
  // Canvases: memory, workers, use, order.
  EXPECT_EQ(result_of(dom), "yes|Espalier: drawn tree|4|true|3");
}

TEST_F(Browser, DrawsAPipeline) {
  const Pipeline pipeline({{0, 1, 2, 0, 1, 0}, {1, 1, 2, 0, 1, 0}}, 1, 0, {100, 50});
  const PipelineSchedule schedule{
      {{{PipelineKind::kForward, 0, 0}, {PipelineKind::kBoth, 0, 0}},
       {{PipelineKind::kForward, 1, 0}, {PipelineKind::kBoth, 1, 0}}}};
  const PipelineRun run = *replay_pipeline(pipeline, schedule);
  PipelinePage page;
  page.pipeline = &pipeline;
  page.schedule = &schedule;
  page.run = &run;
  page.title = "two stages";
  page.tables = {{"Plans", {"a"}, {{"b"}}}};
  const std::string dom = opened(html(data_of(page)), std::string(kProbe) + R"(
said.push(document.body.dataset.ready);
said.push(document.title);
said.push(document.querySelectorAll("canvas").length);
said.push(document.getElementById("answer").textContent.includes("at most 101 B"));
said.push(document.querySelectorAll("table").length);
const lanes = document.querySelector("canvas.lanes");
const box = lanes.getBoundingClientRect();
lanes.dispatchEvent(new MouseEvent("mousemove",
  {clientX: box.left + box.width / 2, clientY: box.top + 40}));
said.push(lanes.nextElementSibling.textContent.startsWith("stage 1: both gradients"));
tell();)");
  // Canvases: the step, memory. Tables: stages, plans.
  EXPECT_EQ(result_of(dom), "yes|Espalier: two stages|2|true|2|true");
}

TEST_F(Browser, TheTreeOpensAndClosesByKeyboard) {
  const std::string dom = opened(drawn_page(), std::string(kProbe) + R"(
const rows = () => document.querySelectorAll("[role=treegrid] tbody tr");
press(rows()[0], "ArrowLeft");
said.push(rows().length, rows()[0].getAttribute("aria-expanded"));
press(rows()[0], "ArrowRight");
said.push(rows().length, rows()[0].getAttribute("aria-expanded"));
press(rows()[0], "ArrowDown");
said.push(document.activeElement === rows()[1]);
press(rows()[1], "End");
said.push(document.activeElement === rows()[2]);
tell();)");
  EXPECT_EQ(result_of(dom), "1|false|3|true|true|true");
}

TEST_F(Browser, BarsAndColumnsAreReadByKeyboard) {
  const std::string dom = opened(drawn_page(), std::string(kProbe) + R"(
const lanes = document.querySelector("canvas.lanes");
press(lanes, "ArrowRight");
said.push(lanes.nextElementSibling.textContent);
press(lanes, "ArrowDown");
said.push(lanes.nextElementSibling.textContent);
const memory = document.querySelector(".chart");
press(memory, "ArrowRight");
press(memory, "+");
requestAnimationFrame(() => {
  said.push(memory.nextElementSibling.textContent.includes("at most 7 B"));
  tell();
});)");
  const std::string result = result_of(dom);
  EXPECT_NE(result.find("worker 0: task 2"), std::string::npos) << result;
  EXPECT_NE(result.find("worker 1: idle"), std::string::npos) << result;
  EXPECT_NE(result.find("|true"), std::string::npos) << result;
}

TEST_F(Browser, APageOfAGraphIsDrawn) {
  TaskGraphBuilder builder;
  const DatumId x = builder.add_datum("x", 5), y = builder.add_datum("<y>", 2);
  const TaskId a = builder.add_task("a & b", 1);
  builder.reads(a, x);
  builder.writes(a, y);
  const TaskGraph graph = std::move(builder).build();
  GraphPage page;
  page.graph = &graph;
  page.title = "graph";
  page.order = page.file_order = graph.topological_order();
  page.lower_bound_bytes = 8;
  const std::string dom = opened(html(data_of(page)), std::string(kProbe) + R"(
said.push(document.body.dataset.ready, document.querySelectorAll("canvas").length);
said.push(document.querySelectorAll("tbody tr").length);
said.push(document.getElementById("answer").textContent.includes("at most 8 B"));
tell();)");
  EXPECT_EQ(result_of(dom), "yes|2|3|true");
}

TEST_F(Browser, TreesOfManyTasksAreDrawn) {
  for (const support::Shape& shape : support::shapes()) {
    if (shape.name == "Caterpillar" || shape.name == "Balanced") continue;  // for time
    PlanOptions options;
    options.workers = 100;
    const Plan plan = plan_of(shape.make(20'000), options);
    const std::string page = html(data_of({&plan, shape.name, {}, {}, 1e9, {}}));
    const std::string dom = opened(page, std::string(kProbe) + R"(
const buttons = [...document.querySelectorAll("button")];
buttons.filter((each) => each.textContent === "Around the peak")
  .forEach((each) => each.click());
said.push(document.body.dataset.ready, document.querySelectorAll("canvas").length);
tell();)");
    EXPECT_EQ(result_of(dom), "yes|4") << shape.name;
  }
}

}  // namespace TEST_SOURCE
}  // namespace espalier::report
