/* Data of 1 MiB, one after the other: written, read, and released when no task works on
 * them any more. One suffices. Knows nothing of the policy.
 *
 *   releases_program COUNT invalidate|unregister|keep|hold [stay]
 *
 * keep: releases nothing before the end. hold: the same, and first acquires as many data
 * itself and does not give them back. stay: forbids StarPU to write the data to a disk
 * (starpu_data_set_ooc_flag), as some libraries do unless told otherwise.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 1 << 20, MOST = 1000 };

static void write_block(void* buffers[], void* argument) {
  (void)argument;
  memset((void*)STARPU_VECTOR_GET_PTR(buffers[0]), 1, STARPU_VECTOR_GET_NX(buffers[0]));
}

static void read_block(void* buffers[], void* argument) {
  (void)argument;
  if (*(const char*)STARPU_VECTOR_GET_PTR(buffers[0]) != 1) abort();
}

static struct starpu_codelet writer = {
    .cpu_funcs = {write_block}, .nbuffers = 1, .modes = {STARPU_W}, .name = "write"};
static struct starpu_codelet reader = {
    .cpu_funcs = {read_block}, .nbuffers = 1, .modes = {STARPU_R}, .name = "read"};

int main(int argc, char** argv) {
  static starpu_data_handle_t handles[MOST];
  const int count = argc > 2 ? atoi(argv[1]) : 0;
  if (count <= 0 || count > MOST || starpu_init(NULL) != 0) return 77;
  for (int i = 0; argv[2][0] == 'h' && i < count; ++i) {
    starpu_data_handle_t held;
    starpu_vector_data_register(&held, -1, 0, BYTES, 1);
    starpu_data_acquire(held, STARPU_W);
  }
  for (int i = 0; i < count; ++i) {
    starpu_vector_data_register(&handles[i], -1, 0, BYTES, 1);
    if (argc > 3) starpu_data_set_ooc_flag(handles[i], 0);
    starpu_task_insert(&writer, STARPU_W, handles[i], 0);
    starpu_task_insert(&reader, STARPU_R, handles[i], 0);
    if (argv[2][0] == 'k' || argv[2][0] == 'h') continue;
    starpu_task_wait_for_all();
    if (argv[2][0] == 'i')
      starpu_data_invalidate_submit(handles[i]);
    else
      starpu_data_unregister_submit(handles[i]);
  }
  starpu_task_wait_for_all();
  if (argv[2][0] != 'u')
    for (int i = 0; i < count; ++i) starpu_data_unregister_no_coherency(handles[i]);
  starpu_shutdown();
  printf("done\n");
  return 0;
}
