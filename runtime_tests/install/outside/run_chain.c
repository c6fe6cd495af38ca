/* A chain of twelve steps, x -> x + 1, run backwards with three slots for states: the
 * states that the backward steps meet have to be right. */
#include <espalier_chain.h>
#include <starpu.h>
#include <stdio.h>

static int start(void* user, const espalier_chain_state* to) {
  (void)user;
  *(int64_t*)to->data = 0;
  return 0;
}

static int advance(void* user, int64_t step, const espalier_chain_state* from,
                   const espalier_chain_state* to) {
  (void)user, (void)step;
  *(int64_t*)to->data = *(const int64_t*)from->data + 1;
  return 0;
}

static int backward(void* user, int64_t step, const espalier_chain_state* at) {
  *(int64_t*)user += *(const int64_t*)at->data == step;
  return 0;
}

int main(void) {
  int64_t right = 0;
  espalier_chain chain = {0};
  espalier_chain_callbacks callbacks = {0};
  espalier_chain_limits limits = {0};
  espalier_chain_report report = {0};
  chain.size = sizeof chain;
  chain.steps = 12;
  chain.state_bytes = sizeof(int64_t);
  callbacks.size = sizeof callbacks;
  callbacks.user = &right;
  callbacks.start = start;
  callbacks.advance = advance;
  callbacks.backward = backward;
  limits.size = sizeof limits;
  limits.memory_slots = 3;
  report.size = sizeof report;
  if (starpu_init(NULL) != 0) return 1;
  if (espalier_chain_run(&chain, &callbacks, &limits, &report) != 0) {
    fprintf(stderr, "%s\n", espalier_chain_last_error());
    return 1;
  }
  starpu_shutdown();
  printf("%d of 12 states right, %d forward steps\n", (int)right,
         (int)report.executed_steps);
  return 0;
}
