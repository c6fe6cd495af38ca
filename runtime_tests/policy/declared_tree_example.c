/* A tree of five nodes inside the least memory that suffices, in plain C.
 *
 *          4
 *        /   \          each node: 1 MiB of output, which its parent reads,
 *       2     3         and 2 MiB of workspace
 *      / \
 *     0   1
 *
 * The task of a node allocates when the policy lets it start; it frees its workspace and
 * its children's outputs before it ends.
 */

#include <espalier.h>
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NODES = 5 };
static const size_t output_size = 1 << 20, workspace_size = 2 << 20;
static const int32_t parents[NODES] = {2, 2, 4, 4, -1};

struct node {
  espalier_job* job;
  int32_t id;
  char* output;
};
static struct node nodes[NODES];

static char* allocate(struct node* node, size_t size) {
  char* memory = malloc(size);
  if (memory == NULL) abort();
  memset(memory, 1, size);
  espalier_job_allocated(node->job, node->id, (int64_t)size);
  return memory;
}

static void release(struct node* node, char* memory, size_t size) {
  free(memory);
  espalier_job_allocated(node->job, node->id, -(int64_t)size);
}

static void run_node(void* buffers[], void* argument) {
  struct node* node = argument;
  (void)buffers;
  node->output = allocate(node, output_size);
  char* workspace = allocate(node, workspace_size);
  for (int child = 0; child < NODES; ++child)
    if (parents[child] == node->id) {
      node->output[0] = (char)(node->output[0] + nodes[child].output[0]);
      release(node, nodes[child].output, output_size);
    }
  release(node, workspace, workspace_size);
}

static struct starpu_codelet codelet = {.cpu_funcs = {run_node}, .name = "node"};

static void check(int code, const char* what) {
  if (code == 0) return;
  fprintf(stderr, "%s: %s\n", what, espalier_last_error());
  exit(1);
}

int main(void) {
  /* Declare and plan. */
  int64_t outputs[NODES], executions[NODES];
  for (int i = 0; i < NODES; ++i) {
    outputs[i] = (int64_t)output_size;
    executions[i] = (int64_t)workspace_size;
  }
  espalier_tree* tree;
  espalier_plan* plan;
  espalier_plan_options options = ESPALIER_PLAN_OPTIONS_INIT;
  int64_t least;
  options.workers = 2; /* memory_bound 0: the least that suffices */
  check(espalier_tree_create(&tree, NODES, parents, outputs, executions, NULL, NULL),
        "tree");
  check(espalier_plan_create(&plan, tree, &options, &least), "plan");

  /* Start StarPU with the policy, and the job in it. */
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.sched_policy = espalier_sched_policy();
  conf.ncpus = 2;
  if (starpu_init(&conf) != 0) return 77;
  espalier_job* job;
  check(espalier_job_begin(&job, plan, 0), "job");

  /* Submit in any order: the gate lets children run first and keeps the bound. */
  for (int i = NODES - 1; i >= 0; --i) {
    nodes[i].job = job;
    nodes[i].id = i;
    struct starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = &nodes[i];
    check(espalier_bind(job, task, i), "bind");
    if (starpu_task_submit(task) != 0) return 1;
    check(espalier_node_close(job, i), "close");
  }
  starpu_task_wait_for_all();

  /* The report. */
  espalier_report report = ESPALIER_REPORT_INIT;
  check(espalier_job_end(job, &report), "end");
  printf("result %d, bound %lld, booked %lld, allocated %lld bytes, %lld tasks\n",
         nodes[NODES - 1].output[0], (long long)report.bound_bytes,
         (long long)report.booked_peak, (long long)report.allocated_peak,
         (long long)report.tasks);
  const int good = nodes[NODES - 1].output[0] == NODES && least == report.bound_bytes &&
                   report.allocated_peak <= report.booked_peak &&
                   report.booked_peak <= report.bound_bytes && report.tasks == NODES;
  free(nodes[NODES - 1].output);
  espalier_plan_destroy(plan);
  espalier_tree_destroy(tree);
  starpu_shutdown();
  return good ? 0 : 1;
}
