/* Eight data of 64 MiB: all are written, then all are read again, and none is released in
 * between: 512 MiB live. Knows nothing of the policy. Prints whether all data were right.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { DATA = 8, BYTES = 64 << 20 };

static int wrong = 0;

static void write_block(void* buffers[], void* argument) {
  memset((void*)STARPU_VECTOR_GET_PTR(buffers[0]), (int)(intptr_t)argument,
         STARPU_VECTOR_GET_NX(buffers[0]));
}

static void read_block(void* buffers[], void* argument) {
  const unsigned char* block = (const unsigned char*)STARPU_VECTOR_GET_PTR(buffers[0]);
  for (size_t i = 0; i < STARPU_VECTOR_GET_NX(buffers[0]); i += 512)
    if (block[i] != (unsigned char)(intptr_t)argument)
      __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_block}, .nbuffers = 1, .modes = {STARPU_W}, .name = "write"};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_block}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};

int main(void) {
  starpu_data_handle_t handles[DATA];
  if (starpu_init(NULL) != 0) return 77;
  for (int i = 0; i < DATA; ++i)
    starpu_vector_data_register(&handles[i], -1, 0, BYTES, 1);
  for (int round = 0; round < 2; ++round)
    for (int i = 0; i < DATA; ++i) {
      struct starpu_task* task = starpu_task_create();
      task->cl = round == 0 ? &writer : &reader;
      task->handles[0] = handles[i];
      task->cl_arg = (void*)(intptr_t)(i + 1);
      if (starpu_task_submit(task) != 0) return 1;
    }
  starpu_task_wait_for_all();
  for (int i = 0; i < DATA; ++i) starpu_data_unregister(handles[i]);
  starpu_shutdown();
  printf("data %s\n", wrong ? "WRONG" : "right");
  return wrong;
}
