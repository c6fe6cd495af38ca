/* A StarPU program that has never heard of Espalier: one worker, tasks of rising priority
 * submitted while it runs another. Prints the policy and the order of the tasks. */

#include <semaphore.h>
#include <starpu.h>
#include <starpu_scheduler.h>
#include <stdio.h>

static sem_t begun, all_submitted;

static void hold(void* buffers[], void* argument) {
  (void)buffers;
  (void)argument;
  sem_post(&begun);
  sem_wait(&all_submitted);
}

static void print_number(void* buffers[], void* argument) {
  (void)buffers;
  printf(" %d", (int)(intptr_t)argument);
}

static struct starpu_codelet holding = {.cpu_funcs = {hold}, .name = "hold"};
static struct starpu_codelet codelet = {.cpu_funcs = {print_number}, .name = "number"};

int main(void) {
  struct starpu_conf conf;
  starpu_conf_init(&conf);
  conf.ncpus = 1;
  if (starpu_init(&conf) != 0) return 77;
  printf("policy %s, tasks", starpu_sched_ctx_get_sched_policy(0)->policy_name);
  sem_init(&begun, 0, 0);
  sem_init(&all_submitted, 0, 0);
  if (starpu_task_insert(&holding, 0) != 0) return 1;
  sem_wait(&begun);
  for (int i = 0; i < 5; ++i) {
    struct starpu_task* task = starpu_task_create();
    task->cl = &codelet;
    task->cl_arg = (void*)(intptr_t)i;
    task->priority = i;
    if (starpu_task_submit(task) != 0) return 1;
  }
  sem_post(&all_submitted);
  starpu_task_wait_for_all();
  printf("\n");
  starpu_shutdown();
  return 0;
}
