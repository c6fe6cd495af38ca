// The tree drawn in espalier/model/task_tree.h: b first, then a, then the root needs 7.
// a first needs 9.

#include <cstdio>
#include <vector>

#include "espalier/model/task_tree.h"
#include "espalier/sequential/tree/best_postorder.h"
#include "espalier/sequential/tree/liu_traversal.h"

int main() {
  using espalier::Task;
  using espalier::TaskId;
  const std::vector<Task> tasks = {
      {.parent = std::nullopt, .output_size = 1, .execution_size = 1},
      {.parent = TaskId{0}, .output_size = 2},
      {.parent = TaskId{0}, .output_size = 3, .execution_size = 4}};
  const espalier::TaskTree tree(tasks);
  std::printf("best postorder %lld, Liu %lld\n",
              static_cast<long long>(espalier::best_postorder(tree).peak),
              static_cast<long long>(espalier::liu_traversal(tree).peak));
}
