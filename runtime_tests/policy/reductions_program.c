/* Reductions on data of 1 MiB, one datum after the other, all submitted ahead: written,
 * contributed to, read and released. Knows nothing of the policy.
 *
 *   reductions_program COUNT read|unread
 *
 * unread: no task reads the result before the datum is released.
 */
#include <starpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, CONTRIBUTIONS = 4 };

static int wrong = 0;

static int* value(void* buffer) { return (int*)STARPU_VARIABLE_GET_PTR(buffer); }

static void set_zero(void* buffers[], void* argument) {
  (void)argument;
  *value(buffers[0]) = 0;
}

static void contribute(void* buffers[], void* argument) {
  (void)argument;
  ++*value(buffers[0]);
}

static void add(void* buffers[], void* argument) {
  (void)argument;
  *value(buffers[0]) += *value(buffers[1]);
}

static void read_sum(void* buffers[], void* argument) {
  (void)argument;
  if (*value(buffers[0]) != CONTRIBUTIONS) wrong = 1;
}

static struct starpu_codelet zero = {
    .cpu_funcs = {set_zero}, .nbuffers = 1, .modes = {STARPU_W}, .name = "zero"};
static struct starpu_codelet contributor = {
    .cpu_funcs = {contribute}, .nbuffers = 1, .modes = {STARPU_REDUX}, .name = "add one"};
static struct starpu_codelet adder = {
    .cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_RW, STARPU_R}, .name = "reduce"};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_sum}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};

static int submit(struct starpu_codelet* codelet, starpu_data_handle_t handle) {
  struct starpu_task* const task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  return starpu_task_submit(task);
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int count = atoi(argv[1]), reads = strcmp(argv[2], "read") == 0;
  if (starpu_init(NULL) != 0) return 1;
  for (int i = 0; i < count; ++i) {
    starpu_data_handle_t handle;
    starpu_variable_data_register(&handle, -1, 0, BYTES);
    starpu_data_set_reduction_methods(handle, &adder, &zero);
    int failed = submit(&zero, handle);
    for (int c = 0; c < CONTRIBUTIONS; ++c) failed |= submit(&contributor, handle);
    if (reads) failed |= submit(&reader, handle);
    if (failed) return 1;
    starpu_data_unregister_submit(handle);
  }
  starpu_task_wait_for_all();
  starpu_shutdown();
  return wrong;
}
