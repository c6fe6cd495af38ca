// espalier plan --replay: a recorded run on other numbers of workers.

#include "cli/plan_replay.h"

#include <fmt/format.h>

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
  std::string memory;  // as it was asked for
  Bytes bound;
  ReplayedRun run;
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

void print_replays(const Report& report, const std::vector<Row>& rows, bool json) {
  if (json) {
    Json object = report.json();
    object["replays"] = Json::array();
    for (const Row& row : rows)
      object["replays"].push_back(
          {{"workers", row.run.workers},
           {"memory", row.memory},
           {"bound_bytes", row.bound == kNone ? Json() : Json(row.bound)},
           {"makespan_seconds", row.run.makespan},
           {"speedup", row.speedup},
           {"peak_bytes", row.run.peak},
           {"booked_peak_bytes", row.run.booked_peak},
           {"held_tasks", row.run.held_tasks},
           {"stolen_tasks", row.run.stolen_tasks}});
    return cli::print(dump(object));
  }
  std::string text = report.table();
  text += fmt::format("\n  {:>8} {:>12} {:>12} {:>9} {:>12} {:>12}\n", "workers",
                      "memory", "makespan, s", "speed-up", "peak", "booked");
  for (const Row& row : rows)
    text += fmt::format("  {:>8} {:>12} {:>12.4g} {:>9.2f} {:>12} {:>12}\n",
                        row.run.workers, row.memory, row.run.makespan, row.speedup,
                        format_size(row.run.peak), format_size(row.run.booked_peak));
  cli::print(text);
}

}  // namespace

Ending replay_plan(const ReplayRequest& request) {
  std::optional<Progress> progress(std::in_place, "reading");
  const RunRecord record = read_run_record(request.file);
  progress->step("replaying");
  Replays replays(request, record);
  const Report report = head(request, record, replays.least());
  std::vector<Row> rows;
  for (const auto& [memory, bound] : replays.bounds()) {
    std::optional<Seconds> alone;
    for (const std::int32_t workers : request.workers) {
      const auto one = alone ? Expected<ReplayedRun>() : replays.run(1, bound);
      const auto run = replays.run(workers, bound);
      if (!one || !run) {
        progress.reset();
        const Infeasible& no = one ? run.error() : one.error();
        print_infeasible(report, no, request.json);
        return {kNo, raise_memory(no.least_bytes)};
      }
      if (!alone) alone = one->makespan;
      const double speedup = run->makespan > 0 ? *alone / run->makespan : 1;
      rows.push_back({memory, bound, *run, speedup});
    }
  }
  progress.reset();
  print_replays(report, rows, request.json);
  return kDone;
}

}  // namespace espalier::cli
