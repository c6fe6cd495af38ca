// Plan -> the data of its page.

#include <algorithm>
#include <nlohmann/json.hpp>

#include "espalier/report/outline.h"
#include "espalier/report/page.h"
#include "espalier/report/run_picture.h"
#include "espalier/report/view_data.h"

namespace espalier::report {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kHolders = 20;

class PlanData {
 public:
  explicit PlanData(const PlanPage& page);
  Json take();

 private:
  void add_figures();
  void add_subtrees();
  void add_peak();
  void add_tree();
  [[nodiscard]] Json pictures(const RunPicture& of) const {
    return {{"whole", json_of(of.whole, page_.ids)},
            {"peak", json_of(of.peak, page_.ids)}};
  }
  [[nodiscard]] Json purposes() const;
  [[nodiscard]] Json main_holder() const;
  [[nodiscard]] Json holder(TaskId task) const;
  [[nodiscard]] bool runs_at_peak(TaskId task) const;
  [[nodiscard]] std::int64_t id(TaskId task) const {
    return page_.ids.empty() ? static_cast<std::int64_t>(task) : page_.ids[index(task)];
  }

  const PlanPage& page_;
  const Plan& plan_;
  const TaskTree& tree_;
  Subtrees subtrees_;
  RunPicture order_, run_;
  std::vector<OutlineRow> rows_;
  Json json_;
};

PlanData::PlanData(const PlanPage& page)
    : page_(page),
      plan_(*page.plan),
      tree_(*plan_.tree),
      subtrees_(main_subtrees(tree_)),
      order_(picture_of_order(tree_, plan_.witness, subtrees_)),
      run_(picture_of_run(tree_, plan_.schedule,
                          {page.max_workers, plan_.priority, plan_.mapping}, subtrees_)),
      rows_(outline(plan_, run_.held)) {}

void PlanData::add_figures() {
  Flops work = 0;
  for (const TaskId task : tree_.postorder()) work += tree_.work(task);
  const LowerBounds& lower = plan_.lower_bounds;
  json_["figures"] = {{"tasks", tree_.size()},
                      {"workers", plan_.workers},
                      {"work_flops", work},
                      {"least_bytes", plan_.least_bytes},
                      {"bound_bytes", plan_.memory_bound},
                      {"witness_bytes", plan_.witness_peak},
                      {"peak_bytes", plan_.peak},
                      {"makespan_flops", plan_.makespan},
                      {"lower_bound_flops", lower.best()},
                      {"work_bound_flops", lower.work},
                      {"critical_path_flops", lower.critical_path},
                      {"memory_area_flops", lower.memory_area},
                      {"workers_use", json_of(run_.whole.occupancy.mean)}};
}

void PlanData::add_subtrees() {
  Json list = Json::array();
  for (const TaskId root : subtrees_.roots) list.push_back(id(root));
  json_["subtrees"] = std::move(list);
}

bool PlanData::runs_at_peak(TaskId task) const {
  const Seconds time = run_.replay.peak_time;
  return task == run_.replay.peak_task || (plan_.schedule.start[index(task)] <= time &&
                                           time < plan_.schedule.end[index(task)]);
}

Json PlanData::holder(TaskId task) const {
  const std::optional<TaskId> parent = tree_.parent(task);
  const bool runs = runs_at_peak(task);
  Json json = {{"id", id(task)},
               {"bytes", run_.held[index(task)]},
               {"subtree", subtrees_.of_task[index(task)]},
               {"runs", runs},
               {"output_bytes", tree_.output_size(task)},
               {"retained_bytes", tree_.retained_size(task)}};
  if (parent) json["parent"] = id(*parent);
  if (parent) json["parent_runs"] = runs_at_peak(*parent);
  return json;
}

// What the bytes at the peak are there for: they add up to the peak.
Json PlanData::purposes() const {
  Bytes running = 0, retained = 0, outputs = 0;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    const Bytes held = run_.held[i];
    if (held == 0) continue;
    if (runs_at_peak(task_id(i))) {
      running += held;
    } else {
      retained += tree_.retained_size(task_id(i));
      outputs += held - tree_.retained_size(task_id(i));
    }
  }
  return {{"running_bytes", running},
          {"output_bytes", outputs},
          {"retained_bytes", retained}};
}

Json PlanData::main_holder() const {
  const std::optional<MainHolder> main = report::main_holder(tree_, run_.held);
  if (!main) return nullptr;
  const WorkerRange& workers = plan_.mapping[index(main->subtree.task)];
  Json below = Json::array();
  for (const SubtreeHolding& each : main->below) {
    below.push_back({{"task", id(each.task)}, {"bytes", each.bytes}});
  }
  return {{"task", id(main->subtree.task)},
          {"bytes", main->subtree.bytes},
          {"first_worker", workers.first},
          {"workers", workers.count},
          {"below", std::move(below)}};
}

void PlanData::add_peak() {
  if (!run_.replay.peak_task) return;
  std::vector<TaskId> tasks;
  for (std::size_t i = 0; i < tree_.size(); ++i) {
    if (run_.held[i] > 0) tasks.push_back(task_id(i));
  }
  const std::size_t shown = std::min(kHolders, tasks.size());
  const auto holds_more = [this](TaskId a, TaskId b) {
    const Bytes held_a = run_.held[index(a)], held_b = run_.held[index(b)];
    return held_a != held_b ? held_a > held_b : a < b;
  };
  std::partial_sort(tasks.begin(), tasks.begin() + static_cast<std::ptrdiff_t>(shown),
                    tasks.end(), holds_more);
  Json holders = Json::array();
  for (const TaskId task : std::span(tasks).first(shown)) holders.push_back(holder(task));
  json_["peak"] = {{"task", id(*run_.replay.peak_task)}, {"time", run_.replay.peak_time},
                   {"bytes", run_.replay.peak},          {"purposes", purposes()},
                   {"main_holder", main_holder()},       {"holding_tasks", tasks.size()},
                   {"holders", std::move(holders)}};
}

void PlanData::add_tree() {
  Json rows = Json::array();
  for (const OutlineRow& row : rows_) {
    rows.push_back({row.parent, static_cast<int>(row.kind), id(row.task), id(row.last),
                    row.path_length, row.subtrees, row.tasks, row.work, row.peak,
                    row.held, row.start, row.end, row.workers.first, row.workers.count,
                    subtrees_.of_task[index(row.task)]});
  }
  json_["tree"] = {
      {"columns",
       {"parent", "kind", "task", "last", "path_length", "subtrees", "tasks", "work",
        "peak", "held", "start", "end", "first_worker", "workers", "colour"}},
      {"rows", std::move(rows)}};
}

Json PlanData::take() {
  json_["kind"] = "plan";
  json_["title"] = page_.title;
  json_["rate"] = page_.rate;
  json_["facts"] = page_.facts;
  add_figures();
  add_subtrees();
  add_peak();
  json_["order"] = pictures(order_);
  json_["run"] = pictures(run_);
  add_tree();
  return std::move(json_);
}

}  // namespace

std::string data_of(const PlanPage& page) {
  return PlanData(page).take().dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace espalier::report
