// A recorded run once more, in the simulated time of StarPU built with SimGrid: the tasks
// of `espalier solve --trace` on any number of workers, through the policy library as it
// is.
//
//   simgrid_replay RECORD [--workers P] [--memory none|min|BYTES] [--processor-time]
//
// Declared to the policy are the record's nodes, as the solver declares them. A task is
// submitted by the last one that it waits for; it sleeps in simulated time for as long as
// it took, and the record's overhead, and says what memory it has. StarPU decides who
// wakes, and the policy who runs what. Prints one JSON object; `tools_seconds` is real
// time.
//
// Needs STARPU_PERF_MODEL_DIR and STARPU_HOSTNAME: see apps/bench/simgrid/run.

#include <fmt/format.h>
#include <starpu.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

#include "espalier.h"
#include "espalier/io/run_record_io.h"

namespace {

using espalier::RunRecord;

struct Options {
  std::string record, memory = "none";
  int workers = 1;
  bool processor_time = false;
};

void check(int code, const char* what) {
  if (code != 0)
    throw std::runtime_error(fmt::format("{}: {}", what, espalier_last_error()));
}

/// The number that the C interface has for a name of the record.
int order_of(const std::string& name) {
  if (name == "liu") return ESPALIER_ORDER_LIU;
  if (name == "postorder") return ESPALIER_ORDER_POSTORDER;
  if (name == "parallel") return ESPALIER_ORDER_PARALLEL;
  throw std::runtime_error("order of the record: " + name);
}

int mapping_of(const std::string& name) {
  if (name == "memory-aware") return ESPALIER_MAPPING_MEMORY_AWARE;
  if (name == "proportional") return ESPALIER_MAPPING_PROPORTIONAL;
  if (name == "all-to-all") return ESPALIER_MAPPING_ALL_TO_ALL;
  throw std::runtime_error("mapping of the record: " + name);
}

std::int64_t bound_of(const std::string& memory) {
  if (memory == "min") return 0;
  if (memory == "none") return std::numeric_limits<std::int64_t>::max();
  return std::stoll(memory);
}

espalier_tree* make_tree(const RunRecord& record) {
  std::vector<std::int32_t> parents;
  std::vector<std::int64_t> output, execution, retained;
  std::vector<double> work;
  for (const espalier::Task& node : record.nodes) {
    parents.push_back(node.parent ? static_cast<std::int32_t>(*node.parent) : -1);
    output.push_back(node.output_size);
    execution.push_back(node.execution_size);
    retained.push_back(node.retained_size);
    work.push_back(node.work);
  }
  espalier_tree* tree = nullptr;
  check(espalier_tree_create(&tree, static_cast<std::int32_t>(parents.size()),
                             parents.data(), output.data(), execution.data(),
                             retained.data(), work.data()),
        "tree");
  return tree;
}

espalier_plan* make_plan(const RunRecord& record, const Options& options) {
  espalier_tree* const tree = make_tree(record);
  espalier_plan_options asked = ESPALIER_PLAN_OPTIONS_INIT;
  asked.memory_bound = bound_of(options.memory);
  asked.workers = options.workers;
  asked.order = order_of(record.order);
  asked.mapping = mapping_of(record.mapping);
  asked.max_workers = record.max_workers.empty() ? nullptr : record.max_workers.data();
  espalier_plan* plan = nullptr;
  check(espalier_plan_create(&plan, tree, &asked, nullptr), "plan");
  espalier_tree_destroy(tree);
  return plan;
}

/// The tasks of a record while they run. SimGrid runs one simulated thread at a time, and
/// changes between them only where they wait: plain counters do.
class Replay {
 public:
  Replay(const RunRecord& record, bool processor_time, espalier_job* job)
      : record_(record), processor_time_(processor_time), job_(job) {
    starpu_codelet_init(&codelet_);
    codelet_.cpu_funcs[0] = run_task;
    codelet_.cpu_funcs_name[0] = "run_task";
    codelet_.name = "replayed";
    codelet_.flags = STARPU_CODELET_SIMGRID_EXECUTE;
    const std::size_t tasks = record.tasks.size();
    items_.resize(tasks);
    left_.resize(tasks);
    successors_.resize(tasks);
    tasks_left_.resize(record.nodes.size());
    for (std::size_t i = 0; i < tasks; ++i) {
      items_[i] = {this, i};
      ++tasks_left_[static_cast<std::size_t>(record.tasks[i].node)];
      left_[i] = record.waits_for(i).size();
      for (const std::int32_t before : record.waits_for(i))
        successors_[static_cast<std::size_t>(before)].push_back(i);
    }
  }

  /// @return simulated seconds
  double run() {
    const double start = starpu_timing_now();
    for (std::size_t node = 0; node < tasks_left_.size(); ++node)
      if (tasks_left_[node] == 0) close(static_cast<std::int32_t>(node));
    std::vector<std::size_t> first;
    for (std::size_t i = 0; i < left_.size(); ++i)
      if (left_[i] == 0) first.push_back(i);
    for (const std::size_t i : first) submit(i);
    starpu_task_wait_for_all();
    return (starpu_timing_now() - start) * 1e-6;
  }

 private:
  struct Item {
    Replay* replay;
    std::size_t task;
  };

  static void run_task(void* /*buffers*/[], void* argument) noexcept {
    const Item& item = *static_cast<const Item*>(argument);
    try {
      item.replay->execute(item.task);
    } catch (const std::exception& e) {
      std::fprintf(stderr, "simgrid_replay: %s\n", e.what());
      std::abort();
    }
  }

  void execute(std::size_t i) {
    const RunRecord::Task& task = record_.tasks[i];
    allocated(task.node, task.taken);
    starpu_sleep(static_cast<float>((processor_time_ ? task.processor : task.seconds) +
                                    record_.overhead));
    allocated(task.node, task.kept - task.taken);
    for (const std::size_t next : successors_[i])
      if (--left_[next] == 0) submit(next);
    if (--tasks_left_[static_cast<std::size_t>(task.node)] == 0) close(task.node);
  }

  // More than was booked is counted in the report and no error here.
  void allocated(std::int32_t node, std::int64_t delta) {
    if (delta != 0) (void)espalier_job_allocated(job_, node, delta);
  }

  void close(std::int32_t node) { check(espalier_node_close(job_, node), "close"); }

  void submit(std::size_t i) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet_;
    task->cl_arg = &items_[i];
    task->cl_arg_size = sizeof(Item);
    task->priority = record_.tasks[i].priority;
    check(espalier_bind(job_, task, record_.tasks[i].node), "bind");
    if (starpu_task_submit(task) != 0) throw std::runtime_error("submission failed");
  }

  const RunRecord& record_;
  const bool processor_time_;
  espalier_job* const job_;
  starpu_codelet codelet_;
  std::vector<Item> items_;
  std::vector<std::size_t> left_;  // that each task waits for
  std::vector<std::vector<std::size_t>> successors_;
  std::vector<std::size_t> tasks_left_;  // of each node
};

void start_starpu(int workers) {
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy = espalier_sched_policy();
  conf.ncpus = workers;
  if (starpu_init(&conf) != 0) throw std::runtime_error("StarPU does not start");
  if (starpu_cpu_worker_get_count() != static_cast<unsigned>(workers))
    throw std::runtime_error(fmt::format("{} workers where {} were asked for",
                                         starpu_cpu_worker_get_count(), workers));
}

nlohmann::ordered_json replay(const Options& options) {
  const auto begin = std::chrono::steady_clock::now();
  const RunRecord record = espalier::read_run_record(options.record);
  espalier_plan* const plan = make_plan(record, options);
  espalier_job* job = nullptr;
  check(espalier_job_begin(&job, plan, 0), "job");
  const double makespan = Replay(record, options.processor_time, job).run();
  espalier_report report = ESPALIER_REPORT_INIT;
  check(espalier_job_end(job, &report), "end of the job");
  espalier_plan_destroy(plan);
  const std::chrono::duration<double> real = std::chrono::steady_clock::now() - begin;
  return {{"workers", options.workers},
          {"memory", options.memory},
          {"bound_bytes", report.bound_bytes},
          {"tasks", report.tasks},
          {"makespan_seconds", makespan},
          {"peak_bytes", report.allocated_peak},
          {"booked_peak_bytes", report.booked_peak},
          {"overruns", report.overruns},
          {"held_tasks", report.held_tasks},
          {"stolen_tasks", report.stolen_tasks},
          {"tools_seconds", real.count()}};
}

}  // namespace

int main(int argc,
         char** argv) {  // StarPU calls it starpu_main, and has a main of its own
  Options options;
  CLI::App app("A recorded run in the simulated time of StarPU built with SimGrid");
  app.add_option("record", options.record, "of espalier solve --trace")->required();
  app.add_option("--workers", options.workers)->check(CLI::Range(1, STARPU_NMAXWORKERS));
  app.add_option("--memory", options.memory, "none, min or bytes, for the nodes");
  app.add_flag("--processor-time", options.processor_time, "durations of the processor");
  CLI11_PARSE(app, argc, argv);
  try {
    start_starpu(options.workers);
    fmt::print("{}\n", replay(options).dump());
  } catch (const std::exception& e) {
    std::fprintf(stderr, "simgrid_replay: %s\n", e.what());
    return 1;
  }
  starpu_shutdown();
  return 0;
}
