/* A StarPU-MPI program that knows nothing of Espalier: values go round a ring of
 * processes, each step into data that StarPU allocates and frees, so that every process
 * needs memory for the values that it waits for and for a few steps. Fails if the sum is
 * wrong or another policy runs than the one that its first argument names; the second is
 * the bytes of a value, the third how often the whole is done. Prints by how much its
 * resident memory grew at most, and how long the longest time round took. */

#include <starpu.h>
#include <starpu_mpi.h>
#include <starpu_scheduler.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kRounds = 60 };

static size_t bytes = 1 << 20;

static void write_number(void* buffers[], void* argument) {
  memset((void*)STARPU_VARIABLE_GET_PTR(buffers[0]), 1, bytes);
  *(int*)STARPU_VARIABLE_GET_PTR(buffers[0]) = (int)(intptr_t)argument;
}

static void add_one(void* buffers[], void* argument) {
  (void)argument;
  memcpy((void*)STARPU_VARIABLE_GET_PTR(buffers[0]),
         (const void*)STARPU_VARIABLE_GET_PTR(buffers[1]), bytes);
  *(int*)STARPU_VARIABLE_GET_PTR(buffers[0]) =
      *(const int*)STARPU_VARIABLE_GET_PTR(buffers[1]) + 1;
}

static void add_to_sum(void* buffers[], void* argument) {
  STARPU_ATOMIC_ADD((int*)argument, *(const int*)STARPU_VARIABLE_GET_PTR(buffers[0]));
}

static struct starpu_codelet write_codelet = {
    .cpu_funcs = {write_number}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet add_codelet = {
    .cpu_funcs = {add_one}, .nbuffers = 2, .modes = {STARPU_W, STARPU_R}};
static struct starpu_codelet sum_codelet = {
    .cpu_funcs = {add_to_sum}, .nbuffers = 1, .modes = {STARPU_R}};

static int submit(struct starpu_codelet* codelet, void* argument,
                  starpu_data_handle_t first, starpu_data_handle_t second) {
  struct starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->cl_arg = argument;
  task->handles[0] = first;
  if (second != NULL) task->handles[1] = second;
  return starpu_task_submit(task);
}

static starpu_data_handle_t temporary(void) {
  starpu_data_handle_t handle;
  starpu_variable_data_register(&handle, -1, 0, bytes);
  return handle;
}

/* Of a line of /proc/self/status, in KiB; -1 where there is none. */
static long status(const char* key) {
  char line[256];
  long value = -1;
  FILE* file = fopen("/proc/self/status", "r");
  if (file == NULL) return value;
  while (fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, key, strlen(key)) == 0)
      value = strtol(line + strlen(key) + 1, NULL, 10);
  fclose(file);
  return value;
}

/* All rounds, until they have ended here. */
static void go_round(int rank, int size, int* sum) {
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;
  for (int round = 0; round < kRounds; ++round) {
    starpu_data_handle_t mine = temporary(), received = temporary(), result = temporary();
    submit(&write_codelet, (void*)(intptr_t)round, mine, NULL);
    starpu_mpi_isend_detached(mine, next, round, MPI_COMM_WORLD, NULL, NULL);
    starpu_mpi_irecv_detached(received, previous, round, MPI_COMM_WORLD, NULL, NULL);
    submit(&add_codelet, NULL, result, received);
    submit(&sum_codelet, sum, result, NULL);
    starpu_data_unregister_submit(mine);
    starpu_data_unregister_submit(received);
    starpu_data_unregister_submit(result);
  }
  starpu_mpi_wait_for_all(MPI_COMM_WORLD);
}

int main(int argc, char** argv) {
  int rank, size, sum = 0;
  double longest = 0;
  if (starpu_init(NULL) != 0 || starpu_mpi_init(&argc, &argv, 1) != 0) return 77;
  if (argc > 2) bytes = (size_t)atol(argv[2]);
  const int times = argc > 3 ? atoi(argv[3]) : 1;
  const long before = status("VmRSS");
  starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
  starpu_mpi_comm_size(MPI_COMM_WORLD, &size);
  for (int time = 0; time < times; ++time) {
    const double start = starpu_timing_now();
    go_round(rank, size, &sum);
    const double seconds = 1e-6 * (starpu_timing_now() - start);
    if (seconds > longest) longest = seconds;
  }
  const char* policy = starpu_sched_ctx_get_sched_policy(0)->policy_name;
  printf("rank %d of %d, policy %s, sum %d, grew by %ld KiB, longest of %d %.3f s\n",
         rank, size, policy, sum, status("VmHWM") - before, times, longest);
  const int right = sum == times * (kRounds * (kRounds - 1) / 2 + kRounds) &&
                    (argc < 2 || strcmp(argv[1], policy) == 0);
  starpu_mpi_shutdown();
  starpu_shutdown();
  return right ? 0 : 1;
}
