#ifndef ESPALIER_CHAIN_H
#define ESPALIER_CHAIN_H

/**
 * @file
 * Back-propagation chains run on StarPU, in C99: x_0 -> … -> x_N is run backwards with as
 * many states stored as fit, the others recomputed as seldom as possible. chain/chain.h
 * is the C++ interface and says what is promised.
 *
 * StarPU runs and is awake. Functions return 0, or a negative errno code with its
 * explanation in espalier_chain_last_error(). Nothing throws.
 */

#include <starpu.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Explanation of the last call in this thread that returned a negative code. */
const char* espalier_chain_last_error(void);

/** Zero it, set `size`, set what you need. */
typedef struct espalier_chain {
  size_t size;         /**< sizeof(espalier_chain) */
  int64_t steps;       /**< N >= 1 */
  int64_t state_bytes; /**< of a state, if it has one part */
  /** Sizes of the parts of a state, one after the other, each with a handle; NULL: one */
  const int64_t* part_bytes;
  int32_t parts;
  int32_t in_place; /**< not 0: advance can overwrite what it reads */
  /** What each step costs, N of them in any unit; NULL: all the same. With a disk they
   *  count as all the same. */
  const int64_t* step_costs;
} espalier_chain;

/** A state, or a buffer for one. */
typedef struct espalier_chain_state {
  void* data;
  int64_t bytes;
  int32_t parts;
  const starpu_data_handle_t* handles;
} espalier_chain_state;

/**
 * Callbacks return 0; anything else ends the run with -ECANCELED.
 *
 * With `submits` 0 they compute: each is called in a task of its own, backward steps one
 * after the other. Otherwise they are called in the thread of espalier_chain_run() and
 * submit tasks on the handles, in the modes named here; they wait for nothing.
 */
typedef struct espalier_chain_callbacks {
  size_t size; /**< sizeof(espalier_chain_callbacks) */
  void* user;
  /** Writes x_0. */
  int (*start)(void* user, const espalier_chain_state* to);
  /** x_{step+1} from x_step: reads `from`, writes `to`; one and the same where in_place
   *  allows it. */
  int (*advance)(void* user, int64_t step, const espalier_chain_state* from,
                 const espalier_chain_state* to);
  /** Reads x_step; the adjoint, which is the user's, goes from step + 1 to step. The last
   *  step comes first. */
  int (*backward)(void* user, int64_t step, const espalier_chain_state* at);
  int32_t submits;
} espalier_chain_callbacks;

/** Where states can be stored. */
typedef struct espalier_chain_limits {
  size_t size;          /**< sizeof(espalier_chain_limits) */
  int64_t memory_slots; /**< states in memory */
  /** If memory_slots is 0: memory for states in bytes, working state included */
  int64_t memory_bytes;
  /** States in a file of `directory`, that has no name; 0: one for every step */
  int64_t disk_slots;
  const char* directory; /**< NULL: no disk */
  double disk_write;     /**< what it costs to store a state there, in forward steps */
  double disk_read;      /**< and to restore one */
  int32_t window;        /**< tasks submitted ahead; 0: 64 */
} espalier_chain_limits;

typedef struct espalier_chain_report {
  size_t size;            /**< sizeof(espalier_chain_report) */
  int64_t planned_steps;  /**< forward steps of the schedule, those of backward aside */
  int64_t executed_steps; /**< the same */
  int64_t memory_slots;   /**< that were used at most */
  int64_t memory_bytes;   /**< of all buffers */
  int64_t disk_bytes;     /**< of the file */
  int64_t bytes_written, bytes_read;
  double seconds;
} espalier_chain_report;

/**
 * Runs a chain backwards, by the schedule of least cost for these limits.
 *
 * @param report  filled if not NULL, as far as known
 * @return -EINVAL for an argument that cannot be and when StarPU does not run, -ENOMEM
 *         when memory_bytes is too small (the message has the least), -ECANCELED when a
 *         callback fails, -EOVERFLOW when sizes or costs leave 64 bits, -EIO when the
 *         disk, StarPU or the system's memory fails
 */
int espalier_chain_run(const espalier_chain* chain,
                       const espalier_chain_callbacks* callbacks,
                       const espalier_chain_limits* limits,
                       espalier_chain_report* report);

#ifdef __cplusplus
}
#endif

#endif /* ESPALIER_CHAIN_H */
