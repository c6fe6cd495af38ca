/* Asks StarPU for aligned memory and looks whether the data of tasks are. Knows nothing
 * of the policy.
 *
 *   memory_place_program align|disk DIRECTORY
 *
 * align: starpu_malloc_set_align(64 KiB); disk: a disk of the program's in DIRECTORY, as
 * those opened with O_DIRECT need pages. Prints whether all were aligned.
 */
#include <starpu.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static size_t alignment;
static int wrong = 0;

static void look(void* buffers[], void* argument) {
  (void)argument;
  if (STARPU_VECTOR_GET_PTR(buffers[0]) % alignment != 0)
    __atomic_store_n(&wrong, 1, __ATOMIC_RELAXED);
}

static struct starpu_codelet looker = {
    .cpu_funcs = {look}, .nbuffers = 1, .modes = {STARPU_W}, .name = "look"};

int main(int argc, char** argv) {
  if (argc != 3 || starpu_init(NULL) != 0) return 77;
  if (strcmp(argv[1], "align") == 0) {
    alignment = 64 << 10;
    starpu_malloc_set_align(alignment);
  } else {
    alignment = 4096;
    if (starpu_disk_register(&starpu_disk_unistd_ops, argv[2], 16 << 20) < 0) return 77;
  }
  void* block = NULL;
  if (starpu_malloc(&block, 100) != 0 || (uintptr_t)block % alignment != 0) wrong = 1;
  starpu_free_flags(block, 100, STARPU_MALLOC_PINNED);
  for (int size = 8; size <= 1 << 16; size *= 2) {
    starpu_data_handle_t handle;
    starpu_vector_data_register(&handle, -1, 0, size, 1);
    starpu_task_insert(&looker, STARPU_W, handle, 0);
    starpu_data_unregister_submit(handle);
  }
  starpu_task_wait_for_all();
  starpu_shutdown();
  printf("blocks %s\n", wrong ? "NOT aligned" : "aligned");
  return wrong;
}
