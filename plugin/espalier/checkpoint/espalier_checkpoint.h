#ifndef ESPALIER_CHECKPOINT_H
#define ESPALIER_CHECKPOINT_H

/**
 * @file
 * C interface of the checkpointing planner: which states of a chain of steps to store,
 * where, and when to compute them again, so that it can be reversed.
 *
 *     schedule = espalier_checkpoint_revolve(...) or _levels(...) or _online(...)
 *     while (espalier_checkpoint_next(schedule, &action, &step, &level, &slot) == 1) ...
 *     espalier_checkpoint_free(schedule)
 *
 * Functions return 0 or more, or a negative errno code with its explanation in
 * espalier_checkpoint_error(). Nothing throws. Distinct schedules may be used at once
 * from several threads.
 */

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define ESPALIER_CHECKPOINT_API __attribute__((visibility("default")))
#else
#define ESPALIER_CHECKPOINT_API
#endif

typedef struct espalier_checkpoint espalier_checkpoint;

/** Before the first action the working state is x_0. Names as in checkpoint_schedules. */
typedef enum espalier_checkpoint_action {
  /** Store the working state in (level, slot) first, unless level is -1; then run forward
   *  until the working state is x_step. */
  ESPALIER_CHECKPOINT_FORWARD = 0,
  /** Backward step `step`, with its forward step inside: the working state is x_step, the
   *  adjoint becomes that of x_step. */
  ESPALIER_CHECKPOINT_REVERSE = 1,
  /** (level, slot) holds x_step: it becomes the working state. The slot keeps it. */
  ESPALIER_CHECKPOINT_COPY = 2,
  /** The same for the last time: the slot is free afterwards. */
  ESPALIER_CHECKPOINT_MOVE = 3,
  /** Once, before the first reverse: the first sweep is over. */
  ESPALIER_CHECKPOINT_END_FORWARD = 4,
  /** The last action. */
  ESPALIER_CHECKPOINT_END_REVERSE = 5
} espalier_checkpoint_action;

/** Slots for states, and what a store and a restore take, in nanoseconds. */
typedef struct espalier_checkpoint_level {
  int64_t slots, write_ns, read_ns;
} espalier_checkpoint_level;

/** Explanation of the last call in this thread that returned a negative code. */
ESPALIER_CHECKPOINT_API const char* espalier_checkpoint_error(void);

/** `steps` steps of equal cost, `slots` slots in memory: any number of steps.
 *  @return 0, or -ENOSPC when that many slots are too few */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_revolve(int64_t steps, int64_t slots,
                                                        espalier_checkpoint** schedule);

/** Levels from fast to slow. @return as above */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_levels(
    int64_t steps, const espalier_checkpoint_level* levels, size_t count, int64_t step_ns,
    int64_t backward_ns, espalier_checkpoint** schedule);

/** A sweep whose end is not known: each action goes on by one step, until
 *  espalier_checkpoint_finish(). A slot that is stored into may hold a state that is
 * given up. */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_online(int64_t slots,
                                                       espalier_checkpoint** schedule);

/** The working state is the last one that is needed, x_{steps-1}. Online only. */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_finish(espalier_checkpoint* schedule);

/** The next action. @return 1; 0 after the last one */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_next(espalier_checkpoint* schedule,
                                                     int* action, int64_t* step,
                                                     int32_t* level, int64_t* slot);

/** Forward steps beside those inside the backward steps, and the cost in nanoseconds (of
 *  revolve: 1 a forward step); not of online schedules. */
ESPALIER_CHECKPOINT_API int espalier_checkpoint_cost(const espalier_checkpoint* schedule,
                                                     int64_t* advances, int64_t* cost_ns);

/** NULL does nothing. */
ESPALIER_CHECKPOINT_API void espalier_checkpoint_free(espalier_checkpoint* schedule);

#ifdef __cplusplus
}
#endif

#endif
