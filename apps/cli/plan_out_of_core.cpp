#include "cli/plan_out_of_core.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <utility>
#include <vector>

#include "cli/plan_compare.h"
#include "espalier/io/text_file.h"
#include "espalier/sequential/out_of_core/plan_out_of_core.h"
#include "espalier/sequential/out_of_core/replay_out_of_core.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier::cli {
namespace {

struct Method {
  OutOfCoreMethod method;
  const char* key;
  const char* name;
};

constexpr Method kMethods[] = {
    {OutOfCoreMethod::kPostOrderMinIO, "postorder_min_io", "PostOrderMinIO"},
    {OutOfCoreMethod::kLiu, "liu", "Liu's order"},
    {OutOfCoreMethod::kRecExpand, "rec_expand", "RecExpand"},
    {OutOfCoreMethod::kFullRecExpand, "full_rec_expand", "FullRecExpand"}};

struct Chosen {
  const Method* method = nullptr;
  OutOfCorePlan plan;
};

/// Reports each method. @return the one that moves the fewest bytes, or why there is none
Expected<Chosen> compare_methods(const TaskTree& tree, Bytes bound, Report& report) {
  Chosen best;
  report.heading("To disk and back, by method");
  for (const Method& method : kMethods) {
    Expected<OutOfCorePlan> plan = plan_out_of_core(tree, bound, method.method);
    if (!plan) return tl::make_unexpected(plan.error());
    const std::string key = method.key, name = method.name;
    report.bytes(key + "_written_bytes", name + ": written", plan->written);
    report.bytes(key + "_read_bytes", name + ": read", plan->read);
    if (best.method && best.plan.moved() <= plan->moved()) continue;
    best = {&method, *std::move(plan)};
  }
  return best;
}

/// The lines of the header for what happens at one position of the order.
class ScheduleFile {
 public:
  ScheduleFile(std::ostream& file, const PlanInput& input)
      : input_(input), file_(file), out_(input.tree->size(), 0) {
    file_ << "# run ID; write ID BYTES output|retained; read ID BYTES; in this order\n";
  }

  void write(const Eviction& eviction) {
    const bool output = eviction.datum == Eviction::Datum::kOutput;
    file_ << fmt::format("write {} {} {}\n", input_.id(eviction.task), eviction.bytes,
                         output ? "output" : "retained");
    if (output) out_[index(eviction.task)] += eviction.bytes;
  }

  void run(TaskId task) {
    for (const TaskId child : input_.tree->children(task)) {
      if (out_[index(child)] == 0) continue;
      file_ << fmt::format("read {} {}\n", input_.id(child), out_[index(child)]);
    }
    file_ << fmt::format("run {}\n", input_.id(task));
  }

 private:
  const PlanInput& input_;
  std::ostream& file_;
  std::vector<Bytes> out_;  // of each output, on disk
};

void write_schedule(std::ostream& out, const PlanInput& input,
                    const OutOfCorePlan& plan) {
  ScheduleFile file(out, input);
  auto eviction = plan.evictions.begin();
  for (std::size_t k = 0; k < plan.order.size(); ++k) {
    for (; eviction != plan.evictions.end() && eviction->written_at == k; ++eviction) {
      file.write(*eviction);
    }
    file.run(plan.order[k]);
  }
}

void report_plan(Report& report, const TaskTree& tree, const Chosen& chosen) {
  const OutOfCoreReplay replay = replay_out_of_core(tree, chosen.plan);
  report.heading("The plan");
  report.text("method", "method", chosen.method->name);
  report.bytes("peak_bytes", "peak", replay.peak);
  report.bytes("written_bytes", "written", replay.written);
  report.bytes("read_bytes", "read", replay.read);
  report.count("evictions", "evictions",
               static_cast<std::int64_t>(chosen.plan.evictions.size()));
}

}  // namespace

Ending plan_out_of_core(const PlanInput& input, const OutOfCoreRequest& request,
                        Report report, std::optional<Progress>& progress) {
  const TaskTree& tree = *input.tree;
  const Bytes in_core = liu_traversal(tree).peak, least = least_out_of_core(tree);
  const Bytes bound = request.memory.kind == MemoryRequest::Kind::kLeast
                          ? least
                          : request.memory.resolve(in_core, everything(tree));
  Report answer = report;
  answer.flag("feasible", "", true);
  answer.heading("Memory");
  answer.bytes("least_in_core_bytes", "least that suffices without a disk (Liu)",
               in_core);
  answer.bytes("least_bytes", "least that suffices: the largest task", least);
  answer.bytes("bound_bytes", "bound", bound);
  answer.bytes("written_lower_bound_bytes", "no order writes less than",
               std::max<Bytes>(0, in_core - bound));
  const Expected<Chosen> best = compare_methods(tree, bound, answer);
  if (best) report_plan(answer, tree, *best);
  if (best && !request.schedule.empty()) {
    progress->step("writing the schedule");
    write_file(request.schedule,
               [&](std::ostream& file) { write_schedule(file, input, best->plan); });
  }
  progress.reset();
  if (!best) {
    print_infeasible(std::move(report), best.error(), request.json);
    return {kNo, raise_memory(best.error().least_bytes)};
  }
  answer.print(request.json);
  return kDone;
}

}  // namespace espalier::cli
