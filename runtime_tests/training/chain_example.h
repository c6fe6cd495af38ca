#ifndef CHAIN_EXAMPLE_H
#define CHAIN_EXAMPLE_H

#include "training/api/espalier_chain.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct chain_example {
  int64_t steps, fails_at, backward_steps;
  double sum;
} chain_example;

int run_chain_example(chain_example* example, espalier_chain_limits limits,
                      espalier_chain_report* report);

#ifdef __cplusplus
}
#endif

#endif
