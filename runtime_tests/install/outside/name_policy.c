#include <espalier.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>

int main(void) {
  printf("%s\n", espalier_sched_policy()->policy_name);
  return 0;
}
