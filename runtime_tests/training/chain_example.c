/* The C interface, in C: a chain of numbers whose backward steps add them up. */

#include "training/chain_example.h"

static int start(void* user, const espalier_chain_state* to) {
  (void)user;
  *(double*)to->data = 1;
  return 0;
}

static int advance(void* user, int64_t step, const espalier_chain_state* from,
                   const espalier_chain_state* to) {
  const chain_example* example = (const chain_example*)user;
  if (step == example->fails_at) return 5;
  *(double*)to->data = 0.5 * *(const double*)from->data + (double)step;
  return 0;
}

static int backward(void* user, int64_t step, const espalier_chain_state* at) {
  chain_example* example = (chain_example*)user;
  if (example->backward_steps++ != example->steps - 1 - step) return 6;
  example->sum = 0.25 * example->sum + *(const double*)at->data;
  return 0;
}

int run_chain_example(chain_example* example, espalier_chain_limits limits,
                      espalier_chain_report* report) {
  espalier_chain chain = {0};
  espalier_chain_callbacks callbacks = {0};
  chain.size = sizeof chain;
  chain.steps = example->steps;
  chain.state_bytes = sizeof(double);
  chain.in_place = 1;
  callbacks.size = sizeof callbacks;
  callbacks.user = example;
  callbacks.start = start;
  callbacks.advance = advance;
  callbacks.backward = backward;
  limits.size = sizeof limits;
  report->size = sizeof *report;
  example->sum = 0;
  example->backward_steps = 0;
  return espalier_chain_run(&chain, &callbacks, &limits, report);
}
