/* Data of 1 MiB that are written, read and said not to be used for a while
 * (starpu_data_wont_use), again and again. All of them live to the end. Knows nothing of
 * the policy.
 *
 *   wont_use_program DATA ROUNDS
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, MOST = 100 };

static void write_block(void* buffers[], void* argument) {
  memset((void*)STARPU_VECTOR_GET_PTR(buffers[0]), (int)(intptr_t)argument, BYTES);
}

static void read_block(void* buffers[], void* argument) {
  const unsigned char* block = (const unsigned char*)STARPU_VECTOR_GET_PTR(buffers[0]);
  if (block[0] != (int)(intptr_t)argument || block[BYTES - 1] != block[0]) abort();
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_block}, .nbuffers = 1, .modes = {STARPU_W}, .name = "write"};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_block}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};

static void submit(struct starpu_codelet* codelet, starpu_data_handle_t handle,
                   intptr_t value) {
  struct starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  task->cl_arg = (void*)value;
  if (starpu_task_submit(task) != 0) abort();
}

int main(int argc, char** argv) {
  static starpu_data_handle_t handles[MOST];
  const int count = argc > 2 ? atoi(argv[1]) : 0;
  const int rounds = argc > 2 ? atoi(argv[2]) : 0;
  if (count <= 0 || count > MOST || starpu_init(NULL) != 0) return 77;
  for (int i = 0; i < count; ++i)
    starpu_vector_data_register(&handles[i], -1, 0, BYTES, 1);
  for (int round = 0; round < rounds; ++round)
    for (int i = 0; i < count; ++i) {
      submit(&writer, handles[i], round % 100);
      starpu_data_wont_use(handles[i]);
      if (i % 4 == 0) starpu_data_invalidate_submit(handles[i]);
      if (i % 2 == 1) submit(&reader, handles[i], round % 100);
    }
  starpu_task_wait_for_all();
  for (int i = 0; i < count; ++i) starpu_data_unregister_no_coherency(handles[i]);
  starpu_shutdown();
  printf("done\n");
  return 0;
}
