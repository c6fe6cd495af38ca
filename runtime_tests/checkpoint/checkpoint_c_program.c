/* Reverses a chain of 1000 additions with the C iterator: the states are numbers. */

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "espalier/checkpoint/espalier_checkpoint.h"

#define STEPS 1000

static int reverse(espalier_checkpoint* schedule, int online) {
  int64_t held[2][16], working = 0, adjoint = STEPS, forwards = 0;
  int action = 0, more = 0;
  int64_t step = 0, slot = 0;
  int32_t level = 0;
  while (1) {
    if (online && working == STEPS - 1 && adjoint == STEPS) {
      if (espalier_checkpoint_finish(schedule) != 0) return 1;
      online = 0;
    }
    more = espalier_checkpoint_next(schedule, &action, &step, &level, &slot);
    if (more != 1) break;
    if (level >= 2 || slot >= 16) return 2;
    switch (action) {
      case ESPALIER_CHECKPOINT_FORWARD:
        if (level >= 0) held[level][slot] = working;
        forwards += step - working;
        working = step;
        break;
      case ESPALIER_CHECKPOINT_COPY:
      case ESPALIER_CHECKPOINT_MOVE:
        working = held[level][slot];
        if (working != step) return 3;
        if (action == ESPALIER_CHECKPOINT_MOVE) held[level][slot] = -1;
        break;
      case ESPALIER_CHECKPOINT_REVERSE:
        if (working != step || adjoint != step + 1) return 4;
        adjoint = step;
        break;
      default:
        break;
    }
  }
  if (more != 0 || adjoint != 0 || action != ESPALIER_CHECKPOINT_END_REVERSE) return 5;
  printf("%lld\n", (long long)forwards);
  return 0;
}

int main(void) {
  espalier_checkpoint* schedule = NULL;
  const espalier_checkpoint_level levels[2] = {{3, 0, 0}, {9, 5, 4}};
  const espalier_checkpoint_level negative[2] = {{3, 0, 0}, {9, -5, 4}};
  int64_t advances = 0, cost = 0;
  int failed = 0, action = 0;
  int32_t level = 0;
  if (espalier_checkpoint_revolve(STEPS, 0, &schedule) >= 0) return 10;
  if (strstr(espalier_checkpoint_error(), "1 suffices") == NULL) return 11;
  if (espalier_checkpoint_revolve(INT64_MAX, 0, &schedule) != -EINVAL) return 52;
  if (strstr(espalier_checkpoint_error(), "1 to 2^62") == NULL) return 53;
  if (espalier_checkpoint_levels(STEPS, negative, 2, 1, 0, &schedule) >= 0) return 50;
  if (strncmp(espalier_checkpoint_error(), "level 1: ", 9) != 0) return 51;
  if (espalier_checkpoint_revolve(STEPS, 10, &schedule) != 0) return 12;
  /* Refused calls lose no action. */
  if (espalier_checkpoint_next(schedule, NULL, &cost, &level, &advances) >= 0) return 18;
  if (espalier_checkpoint_next(schedule, &action, &cost, &level, NULL) >= 0) return 19;
  if (espalier_checkpoint_cost(schedule, &advances, &cost) != 0) return 13;
  if (advances != cost || espalier_checkpoint_finish(schedule) >= 0) return 14;
  failed = reverse(schedule, 0);
  espalier_checkpoint_free(schedule);
  if (failed) return 20 + failed;
  if (espalier_checkpoint_levels(STEPS, levels, 2, 1, 0, &schedule) != 0) return 15;
  failed = reverse(schedule, 0);
  espalier_checkpoint_free(schedule);
  if (failed) return 30 + failed;
  if (espalier_checkpoint_online(10, &schedule) != 0) return 16;
  failed = reverse(schedule, 1);
  espalier_checkpoint_free(schedule);
  if (failed) return 40 + failed;
  if (espalier_checkpoint_next(NULL, NULL, NULL, NULL, NULL) >= 0) return 17;
  return 0;
}
