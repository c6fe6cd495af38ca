#ifndef ESPALIER_H
#define ESPALIER_H

/**
 * @file
 * Espalier's C interface: run a tree of tasks on StarPU inside a memory bound.
 *
 *     tree  ->  plan  ->  job (a plan attached to a running scheduling context)
 *
 * The application declares its tree, has it planned, begins a job, binds each StarPU task
 * to a node of the tree before it submits it, says when a node gets no more tasks, and
 * ends the job with a report. docs/manual/starpu.md walks through an example.
 *
 * What a node promises: while it runs, its children's outputs, its own execution, output
 * and retained bytes are in memory; when it ends, its execution bytes and its children's
 * outputs have been given back. In return its tasks start only when all that fits in the
 * bound, whatever the durations, and the job always finishes.
 *
 * Conventions. Sizes are bytes, exact 64-bit integers; work is in flops. Nodes are
 * 0 ... n-1. Functions return 0, or a negative errno code with its explanation in
 * espalier_last_error(). Nothing throws. Unless a function says otherwise, it may be
 * called from any thread, and distinct objects may be used at once.
 */

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define ESPALIER_API __attribute__((visibility("default")))
#else
#define ESPALIER_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

struct starpu_task;
struct starpu_sched_policy;

typedef struct espalier_tree espalier_tree;
typedef struct espalier_plan espalier_plan;
typedef struct espalier_job espalier_job;

/**
 * Explanation of the last call in this thread that returned a negative code: one line,
 * never NULL, valid until this thread's next call that fails.
 */
ESPALIER_API const char* espalier_last_error(void);

/** The policy, for starpu_conf::sched_policy or STARPU_SCHED_CTX_POLICY_STRUCT. Its name
 *  is "espalier". The object lives as long as the process. */
ESPALIER_API struct starpu_sched_policy* espalier_sched_policy(void);

/* ------------------------------------------------------------------------- trees --- */

/**
 * Makes a tree, or a forest, of `n` nodes. The arrays have n entries and are copied.
 *
 * @param parents          parent of each node, -1 for a root; a child ends before its
 *                         parent starts; any numbering without a cycle
 * @param output_sizes     bytes that live from the node's start until its parent has
 *                         ended (a root's: to the end of the job)
 * @param execution_sizes  bytes that live only while the node runs; negative where what
 *                         the node leaves takes the place of its inputs while it consumes
 *                         them, at most by either of the two; NULL: all 0
 * @param retained_sizes   bytes from the node's start to the end of the job; NULL: all 0
 * @param work             flops, for priorities and the mapping; NULL: all 1
 * @return -EINVAL for an array, a parent, a size or a work that cannot be, -EOVERFLOW
 * when all sizes together leave the 64-bit range or all work is above 1e250, -ENOMEM
 */
ESPALIER_API int espalier_tree_create(espalier_tree** tree, int32_t n,
                                      const int32_t* parents, const int64_t* output_sizes,
                                      const int64_t* execution_sizes,
                                      const int64_t* retained_sizes, const double* work);

/** Plans that were made of the tree stay valid. NULL is allowed. */
ESPALIER_API void espalier_tree_destroy(espalier_tree* tree);

/* ------------------------------------------------------------------------- plans --- */

enum {
  ESPALIER_ORDER_LIU = 0,       /**< least peak of all orders */
  ESPALIER_ORDER_POSTORDER = 1, /**< least peak of all postorders */
  /** of several inside the bound the one whose simulated run ends first, from `work` and
      `max_workers`: for many workers; the least bound is Liu's */
  ESPALIER_ORDER_PARALLEL = 2,
  /** `given_order`: where several processes need orders that agree with each other */
  ESPALIER_ORDER_GIVEN = 3
  /* from 4 on: the orders that `espalier plan --help` lists after these */
};
enum {
  ESPALIER_MAPPING_MEMORY_AWARE = 0,
  ESPALIER_MAPPING_PROPORTIONAL = 1,
  ESPALIER_MAPPING_ALL_TO_ALL = 2
};

/** Zero it, set `size`, set what you need: zeros are the defaults. Fields may be added at
 *  the end: a smaller struct of an older version goes on working, and a larger one of a
 *  newer version as long as what this one does not know is zero. */
typedef struct espalier_plan_options {
  size_t size;          /**< sizeof(espalier_plan_options): the caller's version */
  int64_t memory_bound; /**< bytes; 0: the least that suffices; INT64_MAX: unbounded */
  int32_t workers;      /**< workers of the run; 0: one */
  int32_t order;        /**< ESPALIER_ORDER_…: the witness that the job can finish */
  int32_t mapping;      /**< ESPALIER_MAPPING_…: where nodes should rather run */
  int32_t reserved;     /**< 0 */
  /** n useful workers per node, each at least 1, for the predicted time; NULL: one */
  const double* max_workers;
  /** ESPALIER_ORDER_GIVEN: all n nodes, children before parents; else NULL */
  const int32_t* given_order;
} espalier_plan_options;

#define ESPALIER_PLAN_OPTIONS_INIT \
  { sizeof(espalier_plan_options), 0, 0, 0, 0, 0, NULL, NULL }

/**
 * Plans the tree for a memory bound.
 *
 * @param options  NULL: all defaults
 * @param least    if not NULL, receives the least bound in bytes that suffices for these
 *                 options, also when the answer is no
 * @return -ENOMEM when the bound is too small (espalier_last_error() has the figures),
 *         -EINVAL for options that cannot be; *plan is NULL then
 */
ESPALIER_API int espalier_plan_create(espalier_plan** plan, const espalier_tree* tree,
                                      const espalier_plan_options* options,
                                      int64_t* least);

/** Jobs that were begun with the plan stay valid. NULL is allowed. */
ESPALIER_API void espalier_plan_destroy(espalier_plan* plan);

/** Bound in bytes that the plan was made for. */
ESPALIER_API int64_t espalier_plan_bound(const espalier_plan* plan);

/** Least bound in bytes for which a plan of this tree exists, in whatever order, or
 *  -EINVAL. An order that is given may need more: see `least` above. */
ESPALIER_API int64_t espalier_plan_least_bytes(const espalier_plan* plan);

/* -------------------------------------------------------------------------- jobs --- */

/**
 * Attaches a plan to the policy that runs in StarPU context `sched_ctx_id` (0: the one
 * that starpu_init made). Nodes without children may start at once.
 *
 * A program that asks StarPU for a scheduler that it does not find silently gets "lws".
 * This call is the proof that Espalier is the one that runs.
 *
 * @return -ENOENT when StarPU or the context does not run or its policy is not this one,
 *         -EBUSY when 16 jobs run in the context already
 */
ESPALIER_API int espalier_job_begin(espalier_job** job, const espalier_plan* plan,
                                    unsigned sched_ctx_id);

/**
 * Begins a job inside `bound` bytes in place of the plan's bound, which may be fewer than
 * the plan's least: in the hope that nodes give back, by espalier_node_give_back(), what
 * they turn out not to need of their retained bytes. Nodes start in the plan's order of
 * memory, each when all that it needs is there, and the bound is kept whatever happens;
 * but the job may come to stand where it does not suffice, which espalier_job_missing()
 * tells. Cancel it then.
 *
 * @return as espalier_job_begin(); -EINVAL for a negative bound
 */
ESPALIER_API int espalier_job_begin_within(espalier_job** job, const espalier_plan* plan,
                                           int64_t bound, unsigned sched_ctx_id);

/**
 * Says that `task` belongs to `node`. Call it before starpu_task_submit(); the task's
 * sched_data is Espalier's from then on until the task has ended. If the submission
 * fails, undo with espalier_unbind(). Costs one atomic addition.
 *
 * A task may be bound at any time before the node is closed, also by a task of that node
 * while it runs: such tasks are admitted at once.
 *
 * @return -EINVAL for a node out of range, a node that has been closed, and a task that
 *         the policy would never see end: without a codelet, STARPU_NOWHERE, regenerated;
 *         or that StarPU would start without asking: execute_on_a_specific_worker, unless
 *         the node has started
 */
ESPALIER_API int espalier_bind(espalier_job* job, struct starpu_task* task, int32_t node);

/** Takes the binding of a task that could not be submitted back. @return -EINVAL when the
 *  task is not bound to a node of `job`. */
ESPALIER_API int espalier_unbind(espalier_job* job, struct starpu_task* task);

/**
 * No further task will be bound to `node`. The node ends when it is closed, all its tasks
 * have ended and its children have ended; its memory counts as given back from then on.
 * A node that never had a task ends as soon as it could have started.
 *
 * @return -EINVAL for a node out of range or one that has been closed already
 */
ESPALIER_API int espalier_node_close(espalier_job* job, int32_t node);

/** 1 if the gate has let the node start, 0 if not, -EINVAL for a node out of range. */
ESPALIER_API int espalier_node_started(const espalier_job* job, int32_t node);

/**
 * Tells what was really allocated (delta > 0 bytes) or given back (delta < 0), on behalf
 * of `node` (-1: of none), so that the report can hold it against what was booked. Report
 * an allocation when the node has started and a release before it ends.
 *
 * @return -ENOSPC when more is now allocated than booked: counted in the report; the
 *         sizes that were declared for some node are too small. -EINVAL for a node out of
 *         range, -EOVERFLOW when the sum falls below 0 or leaves the 64-bit range
 */
ESPALIER_API int espalier_job_allocated(espalier_job* job, int32_t node, int64_t delta);

/**
 * Says that so many of the retained bytes of `node` are not there any more, nor will be:
 * of a factor, say, that was compressed. From now on they count as free. After the
 * release has been told (espalier_job_allocated()), from the node's start on; also after
 * its end.
 *
 * @return -EINVAL for a node out of range or that has not started, for less than 0 bytes,
 *         and for more in all than the node retains
 */
ESPALIER_API int espalier_node_give_back(espalier_job* job, int32_t node, int64_t bytes);

/**
 * Whether a job has come to stand: all nodes that started have ended, others have not,
 * and the next one does not fit in the bound beside what is retained. Only a job that was
 * begun by espalier_job_begin_within() can.
 *
 * @param bytes  if not NULL, receives what the next node misses, or 0
 * @return 1 if it stands, 0 if not
 */
ESPALIER_API int espalier_job_missing(const espalier_job* job, int64_t* bytes);

/**
 * Gives the bound up and lets every task run, held or yet to come: the way out when the
 * computation has failed and its tasks will return at once without allocating anything.
 */
ESPALIER_API int espalier_job_cancel(espalier_job* job);

/** What a job did. Fields may be added at the end; `size` keeps old callers working. */
typedef struct espalier_report {
  size_t size;              /**< sizeof(espalier_report), set by the caller */
  int64_t bound_bytes;      /**< the job's bound */
  int64_t booked_peak;      /**< most bytes that were set aside at once: never above it */
  int64_t allocated_peak;   /**< most bytes at once by espalier_job_allocated() */
  int64_t allocated_bytes;  /**< of these, still there at the end */
  int64_t overruns;         /**< times that more was allocated than booked: should be 0 */
  int64_t overrun_bytes;    /**< the most by which it was */
  int32_t overrun_node;     /**< node that reported the first of them, -1: none */
  int32_t cancelled;        /**< 1 after espalier_job_cancel() */
  int64_t nodes;            /**< nodes of the tree */
  int64_t nodes_ended;      /**< of these, ended; all of them unless cancelled */
  int64_t tasks;            /**< bound tasks that ended */
  int64_t held_tasks;       /**< of these, tasks that waited at the gate */
  double held_seconds;      /**< their waiting, summed */
  int64_t stolen_tasks;     /**< tasks that ran outside their node's worker set */
  int32_t workers;          /**< workers of the context when the job began */
  int32_t reserved;         /**< 0 */
  double busy_seconds;      /**< time in codelets of bound tasks, summed over workers */
  int64_t given_back_bytes; /**< by espalier_node_give_back() */
} espalier_report;

#define ESPALIER_REPORT_INIT \
  { sizeof(espalier_report), 0, 0, 0, 0, 0, 0, -1, 0, 0, 0, 0, 0, 0., 0, 0, 0, 0., 0 }

/** The report so far. @return -EINVAL for a size that no version had. */
ESPALIER_API int espalier_job_report(const espalier_job* job, espalier_report* report);

/**
 * Ends a job: all its nodes have ended, or it was cancelled and none of its tasks is
 * left. Wait for the tasks first (starpu_task_wait_for_all()). The job is gone then.
 *
 * @param report  filled if not NULL
 * @return -EBUSY when nodes have not ended: the job goes on
 */
ESPALIER_API int espalier_job_end(espalier_job* job, espalier_report* report);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_H */
