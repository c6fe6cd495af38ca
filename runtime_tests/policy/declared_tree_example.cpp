// A declared tree in C++: the C interface behind unique_ptrs, its errors as exceptions.
//
// A complete binary tree of 31 nodes. The output of a node is a vector of 2 MiB: one plus
// the sum of its children's outputs, which are freed then. Argument: the bound in MiB;
// without one, the least that suffices. Exit status 1: it failed, or does not fit.

#include <espalier.h>
#include <starpu.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <stdexcept>
#include <vector>

namespace {

constexpr int kNodes = 31;
constexpr std::size_t kLength = std::size_t{1} << 18;
constexpr std::int64_t kOutputSize = kLength * sizeof(double);

// Ends a job that an exception left: its tasks run to their ends, without the bound.
void abandon(espalier_job* job) {
  espalier_job_cancel(job);
  starpu_task_wait_for_all();
  espalier_job_end(job, nullptr);
}

template <auto kFunction>
struct Call {
  void operator()(auto* object) const { kFunction(object); }
};
using Tree = std::unique_ptr<espalier_tree, Call<espalier_tree_destroy>>;
using Plan = std::unique_ptr<espalier_plan, Call<espalier_plan_destroy>>;
using Job = std::unique_ptr<espalier_job, Call<abandon>>;
using StarPu = std::unique_ptr<starpu_conf, Call<[](auto*) { starpu_shutdown(); }>>;

void check(int code) {
  if (code != 0) throw std::runtime_error(espalier_last_error());
}

struct Node {
  std::int32_t id, parent;
  espalier_job* job;
  std::vector<Node*> children;
  std::vector<double> output;
  std::exception_ptr error;
};

// No exception may reach StarPU. After one, all other tasks are let run.
void run_node(void**, void* argument) noexcept {
  Node& node = *static_cast<Node*>(argument);
  try {
    node.output.assign(kLength, 1);
    check(espalier_job_allocated(node.job, node.id, kOutputSize));
    for (Node* const child : node.children) {
      for (std::size_t i = 0; i < kLength; ++i) node.output[i] += child->output.at(i);
      child->output = std::vector<double>();
      check(espalier_job_allocated(node.job, node.id, -kOutputSize));
    }
  } catch (...) {
    node.error = std::current_exception();
    espalier_job_cancel(node.job);
  }
}

Plan make_plan(const std::vector<Node>& nodes, std::int64_t bound) {
  std::vector<std::int32_t> parents;
  for (const Node& node : nodes) parents.push_back(node.parent);
  const std::vector<std::int64_t> outputs(nodes.size(), kOutputSize);
  espalier_tree* tree = nullptr;
  check(espalier_tree_create(&tree, kNodes, parents.data(), outputs.data(), nullptr,
                             nullptr, nullptr));
  const Tree owner(tree);
  espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
  options.memory_bound = bound;
  espalier_plan* plan = nullptr;
  check(espalier_plan_create(&plan, tree, &options, nullptr));
  return Plan(plan);
}

espalier_report run(std::vector<Node>& nodes, const Plan& plan) {
  starpu_codelet codelet{};
  codelet.cpu_funcs[0] = run_node;
  espalier_job* begun = nullptr;
  check(espalier_job_begin(&begun, plan.get(), 0));
  Job job(begun);  // after what its tasks use: leaving by an exception waits for them
  for (Node& node : nodes) {
    node.job = begun;
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &node;
    check(espalier_bind(begun, task, node.id));
    if (starpu_task_submit(task) != 0) {
      espalier_unbind(begun, task);
      throw std::runtime_error("no worker can run the task");
    }
    check(espalier_node_close(begun, node.id));
  }
  starpu_task_wait_for_all();
  for (const Node& node : nodes)
    if (node.error) std::rethrow_exception(node.error);
  espalier_report report = ESPALIER_REPORT_INIT;
  check(espalier_job_end(job.get(), &report));
  (void)job.release();  // it has ended
  return report;
}

}  // namespace

int main(int argc, char** argv) try {
  std::vector<Node> nodes(kNodes);
  for (int i = 0; i < kNodes; ++i) {
    nodes[i].id = i;
    nodes[i].parent = i > 0 ? (i - 1) / 2 : -1;
    if (i > 0) nodes[nodes[i].parent].children.push_back(&nodes[i]);
  }
  const Plan plan = make_plan(nodes, argc > 1 ? std::atoll(argv[1]) << 20 : 0);
  starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy = espalier_sched_policy();
  if (starpu_init(&conf) != 0) return 77;  // no worker on this machine
  const StarPu starpu(&conf);
  const espalier_report report = run(nodes, plan);
  std::printf("result %g; MiB: bound %lld, booked %lld, allocated %lld\n",
              nodes[0].output.at(0), static_cast<long long>(report.bound_bytes >> 20),
              static_cast<long long>(report.booked_peak >> 20),
              static_cast<long long>(report.allocated_peak >> 20));
  return nodes[0].output.at(0) == kNodes && report.overruns == 0 ? 0 : 1;
} catch (const std::exception& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 1;
}
