// espalier plan --replay: a recorded run on other numbers of workers.

#include "cli/plan_replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>

#include "cli/naming.h"
#include "cli/output.h"
#include "espalier/io/run_record_io.h"
#include "espalier/parallel/make_plan.h"
#include "policy/core/replay_run.h"

namespace espalier::cli {
namespace {

using Json = nlohmann::ordered_json;
using policy::ReplayedRun;

struct Row {
  std::int32_t workers;
  std::string memory;  // as it was asked for
  Bytes bound;
  Expected<ReplayedRun> run;  // no: the bound is too small
  double speedup;
};

constexpr Bytes kNone = std::numeric_limits<Bytes>::max();  // no bound

// By the names that solve writes into the record: those of --order and --mapping.
template <class Choice>
auto named(const ReplayRequest& request, const char* key, const std::string& text,
           std::span<const Choice> choices) {
  std::string names;
  for (const Choice& each : choices) {
    if (each.name == text) return each.kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", each.name);
  }
  throw FileError(request.file, 0,
                  fmt::format("{}: \"{}\" is none of {}", key, text, names));
}

PlanOptions options_of(const ReplayRequest& request, const RunRecord& record) {
  PlanOptions options;
  options.order = named(request, "order", record.order, tree_orders());
  options.mapping = named(request, "mapping", record.mapping, mapping_kinds());
  options.max_workers = record.max_workers;
  return options;
}

// Sizes that cannot be are those of the file.
std::shared_ptr<const TaskTree> tree_of(const ReplayRequest& request,
                                        const RunRecord& record) {
  return naming<Error>(
      request.file, [&] { return std::make_shared<const TaskTree>(record.nodes); },
      "nodes: ");
}

class Replays {
 public:
  Replays(const ReplayRequest& request, const RunRecord& record)
      : request_(request),
        record_(record),
        tree_(tree_of(request, record)),
        options_(options_of(request, record)),
        orders_(sequential_orders(*tree_)) {}

  [[nodiscard]] Bytes least() const {
    return sequential_order(*tree_, options_.order).peak;
  }

  [[nodiscard]] std::vector<std::pair<std::string, Bytes>> bounds() const {
    if (request_.memory.empty())
      return {{record_.bound ? format_size(*record_.bound) : "none",
               record_.bound.value_or(kNone)}};
    std::vector<std::pair<std::string, Bytes>> result;
    for (const MemoryItem& item : request_.memory)
      result.emplace_back(item.text, item.request.resolve(least(), kNone));
    return result;
  }

  [[nodiscard]] Expected<ReplayedRun> run(std::int32_t workers, Bytes bound) {
    options_.workers = workers;
    options_.memory_bound = bound;
    Expected<Plan> plan = make_plan(tree_, options_, orders_);
    if (!plan) return tl::make_unexpected(plan.error());
    return naming<InvalidInput>(request_.file, [&] {
      return policy::replay_run(record_, std::make_shared<const Plan>(std::move(*plan)),
                                {.processor_time = request_.processor_time});
    });
  }

 private:
  const ReplayRequest& request_;
  const RunRecord& record_;
  std::shared_ptr<const TaskTree> tree_;
  PlanOptions options_;
  SequentialOrders orders_;
};

Report head(const ReplayRequest& request, const RunRecord& record, Bytes least) {
  Seconds work = 0;
  for (const RunRecord::Task& task : record.tasks)
    work += request.processor_time ? task.processor : task.seconds;
  Report report;
  report.text("input", "record", request.file);
  report.text("matrix", "of", record.input);
  report.text("kind", "kind", record.operation);
  report.count("tasks", "tasks", std::ssize(record.tasks));
  report.count("nodes", "nodes of the task tree", std::ssize(record.nodes));
  report.count("recorded_workers", "workers of the run", record.workers);
  report.seconds("recorded_seconds", "time of the run", record.seconds);
  report.seconds("task_seconds", "  in tasks", work);
  report.seconds("overhead_seconds", "  of a task beside it (median)", record.overhead);
  report.bytes("least_bytes", "least that suffices for the fronts", least);
  return report;
}

Json json_of(const Row& row) {
  Json replay{{"workers", row.workers},
              {"memory", row.memory},
              {"bound_bytes", row.bound == kNone ? Json() : Json(row.bound)},
              {"feasible", row.run.has_value()}};
  if (!row.run) {
    replay["least_bytes"] = row.run.error().least_bytes;
    return replay;
  }
  replay["makespan_seconds"] = row.run->makespan;
  replay["speedup"] = row.speedup;
  replay["peak_bytes"] = row.run->peak;
  replay["booked_peak_bytes"] = row.run->booked_peak;
  replay["held_tasks"] = row.run->held_tasks;
  replay["stolen_tasks"] = row.run->stolen_tasks;
  return replay;
}

std::string line(const Row& row) {
  const std::string asked = fmt::format("  {:>8} {:>12}", row.workers, row.memory);
  if (!row.run)
    return fmt::format("{} {:>12} {:>9} {:>12} {:>12}\n", asked, "-", "-", "-", "-");
  return fmt::format("{} {:>12.4g} {:>9.2f} {:>12} {:>12}\n", asked, row.run->makespan,
                     row.speedup, format_size(row.run->peak),
                     format_size(row.run->booked_peak));
}

void print_replays(const Report& report, const std::vector<Row>& rows, bool json) {
  if (json) {
    Json object = report.json();
    object["replays"] = Json::array();
    for (const Row& row : rows) object["replays"].push_back(json_of(row));
    return cli::print(dump(object));
  }
  std::string text = report.table();
  text += fmt::format("\n  {:>8} {:>12} {:>12} {:>9} {:>12} {:>12}\n", "workers",
                      "memory", "makespan, s", "speed-up", "peak", "booked");
  for (const Row& row : rows) text += line(row);
  if (!std::ranges::all_of(rows, [](const Row& row) { return row.run.has_value(); }))
    text += "\n  -  needs a larger bound\n";
  cli::print(text);
}

// Of one bound.
void add_rows(Replays& replays, const ReplayRequest& request, const std::string& memory,
              Bytes bound, std::vector<Row>& rows) {
  const Expected<ReplayedRun> one = replays.run(1, bound);
  for (const std::int32_t workers : request.workers) {
    Row row{workers, memory, bound,
            !one || workers == 1 ? one : replays.run(workers, bound), 1};
    if (row.run && row.run->makespan > 0) row.speedup = one->makespan / row.run->makespan;
    rows.push_back(std::move(row));
  }
}

}  // namespace

Ending replay_plan(const ReplayRequest& request) {
  std::optional<Progress> progress(std::in_place, "reading");
  const RunRecord record = read_run_record(request.file);
  progress->step("replaying");
  Replays replays(request, record);
  const Report report = head(request, record, replays.least());
  std::vector<Row> rows;
  for (const auto& [memory, bound] : replays.bounds())
    add_rows(replays, request, memory, bound, rows);
  progress.reset();
  const auto least_told = std::ranges::min_element(rows, {}, [](const Row& row) {
    return row.run ? Bytes{0} : row.run.error().least_bytes;
  });
  if (!least_told->run) {
    const Infeasible& no = least_told->run.error();
    print_infeasible(report, no, request.json);
    return {kNo, raise_memory(no.least_bytes)};
  }
  print_replays(report, rows, request.json);
  return kDone;
}

}  // namespace espalier::cli
