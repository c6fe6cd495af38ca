/* Sixteen independent chains: write 64 MiB, read them, unregister them.
 *
 * Each chain needs 64 MiB, so 256 MiB are ample. But all tasks are submitted before any
 * runs, and a scheduler that does not look at memory starts every writer that it can:
 * with a limit in StarPU (STARPU_LIMIT_CPU_MEM=256) it fills the memory with data whose
 * readers are queued behind further writers, and hangs. The policy, loaded into this
 * program as into any other, lets writers wait until readers have made room:
 *
 *   ESPALIER_MEMORY=256MiB STARPU_SCHED=espalier LD_PRELOAD=libespalier.so ./chains
 *
 * Options: chains, MiB a chain. Prints the growth of the resident peak and whether all
 * data were right.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void write_block(void* buffers[], void* argument) {
  unsigned char* block = (unsigned char*)STARPU_VECTOR_GET_PTR(buffers[0]);
  memset(block, (int)(intptr_t)argument, STARPU_VECTOR_GET_NX(buffers[0]));
}

static int wrong = 0;

static void read_block(void* buffers[], void* argument) {
  const unsigned char* block = (const unsigned char*)STARPU_VECTOR_GET_PTR(buffers[0]);
  const size_t bytes = STARPU_VECTOR_GET_NX(buffers[0]);
  for (size_t i = 0; i < bytes; i += 4096)
    if (block[i] != (unsigned char)(intptr_t)argument)
      __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_block}, .nbuffers = 1, .modes = {STARPU_W}, .name = "write"};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_block}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};

static void submit(struct starpu_codelet* codelet, starpu_data_handle_t handle,
                   intptr_t chain) {
  struct starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  task->cl_arg = (void*)chain;
  if (starpu_task_submit(task) != 0) {
    fprintf(stderr, "a task was not accepted\n");
    exit(1);
  }
}

/* Bytes of a line of /proc/self/status, 0 when there is none. */
static long long status(const char* name) {
  FILE* file = fopen("/proc/self/status", "r");
  char line[256];
  long long kib = 0;
  while (file != NULL && fgets(line, sizeof line, file) != NULL)
    if (strncmp(line, name, strlen(name)) == 0) kib = atoll(line + strlen(name));
  if (file != NULL) fclose(file);
  return kib * 1024;
}

int main(int argc, char** argv) {
  const int chains = argc > 1 ? atoi(argv[1]) : 16;
  const long long mib = argc > 2 ? atoll(argv[2]) : 64;
  if (chains < 1 || mib < 1 || mib > 2000) {
    fprintf(stderr, "usage: %s [chains [MiB]]\n", argv[0]);
    return 2;
  }
  if (starpu_init(NULL) != 0) return 77;
  const long long before = status("VmRSS:");

  starpu_pause();
  for (int chain = 0; chain < chains; ++chain) {
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, -1, 0, (uint32_t)(mib << 20), 1);
    submit(&writer, handle, chain + 1);
    submit(&reader, handle, chain + 1);
    starpu_data_unregister_submit(handle);
  }
  starpu_resume();
  starpu_task_wait_for_all();

  const long long growth = status("VmHWM:") - before;
  starpu_shutdown();
  printf("%d chains of %lld MiB: resident peak %.1f MiB above the start, data %s\n",
         chains, mib, (double)growth / (1 << 20), wrong ? "WRONG" : "right");
  return wrong;
}
