/* A whole of so many MiB that is written, worked on in pieces, and put together again
 * (starpu_data_unpartition_submit), among others of a MiB each, all of which live to the
 * end. Knows nothing of the policy.
 *
 *   pieces_program MIB OTHERS
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MEBIBYTE = 1 << 20, PIECES = 8, MOST = 64 };

static void fill(void* buffers[], void* argument) {
  (void)argument;
  memset((void*)STARPU_VECTOR_GET_PTR(buffers[0]), 1, STARPU_VECTOR_GET_NX(buffers[0]));
}

static struct starpu_codelet writer = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_W}, .name = "write"};
static struct starpu_codelet worker = {
    .cpu_funcs = {fill}, .nbuffers = 1, .modes = {STARPU_RW}, .name = "work"};

static void submit(struct starpu_codelet* codelet, starpu_data_handle_t handle) {
  struct starpu_task* task = starpu_task_create();
  task->cl = codelet;
  task->handles[0] = handle;
  if (starpu_task_submit(task) != 0) abort();
}

int main(int argc, char** argv) {
  static starpu_data_handle_t whole, pieces[PIECES], others[MOST];
  const int mebibytes = argc > 2 ? atoi(argv[1]) : 0;
  const int count = argc > 2 ? atoi(argv[2]) : -1;
  if (mebibytes <= 0 || count < 0 || count > MOST || starpu_init(NULL) != 0) return 77;
  struct starpu_data_filter filter = {.filter_func = starpu_vector_filter_block,
                                      .nchildren = PIECES};
  starpu_vector_data_register(&whole, -1, 0, (uint32_t)mebibytes * MEBIBYTE, 1);
  submit(&writer, whole);
  starpu_data_partition_plan(whole, &filter, pieces);
  starpu_data_partition_submit(whole, PIECES, pieces);
  for (int i = 0; i < PIECES; ++i) submit(&worker, pieces[i]);
  for (int i = 0; i < count; ++i) {
    starpu_vector_data_register(&others[i], -1, 0, MEBIBYTE, 1);
    submit(&writer, others[i]);
  }
  for (int i = 0; i < PIECES; ++i) submit(&worker, pieces[i]);
  starpu_data_unpartition_submit(whole, PIECES, pieces, -1);
  starpu_data_partition_clean(whole, PIECES, pieces);
  submit(&worker, whole);
  starpu_task_wait_for_all();
  starpu_data_unregister_submit(whole);
  for (int i = 0; i < count; ++i) starpu_data_unregister_submit(others[i]);
  starpu_task_wait_for_all();
  starpu_shutdown();
  printf("done\n");
  return 0;
}
