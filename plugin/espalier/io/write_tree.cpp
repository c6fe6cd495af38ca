#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "espalier/io/text_file.h"
#include "espalier/io/tree_io.h"

namespace espalier {
namespace {

std::int64_t id_of(TaskId task, std::span<const std::int64_t> ids) {
  return ids.empty() ? static_cast<std::int64_t>(task) : ids[index(task)];
}

}  // namespace

void write_tree(std::ostream& out, const TaskTree& tree,
                std::span<const std::int64_t> ids) {
  const std::span<const TaskId> tasks = tree.postorder();
  const bool retains = std::any_of(tasks.begin(), tasks.end(), [&tree](TaskId task) {
    return tree.retained_size(task) != 0;
  });
  TextOutput writer(out);
  writer.line("# id parent output_size execution_size work{}",
              retains ? " retained_size" : "");
  for (std::size_t i = 0; i < tree.size(); ++i) {
    const TaskId task = task_id(i);
    const std::optional<TaskId> parent = tree.parent(task);
    writer.line("{} {} {} {} {}{}", id_of(task, ids), parent ? id_of(*parent, ids) : -1,
                tree.output_size(task), tree.execution_size(task), tree.work(task),
                retains ? fmt::format(" {}", tree.retained_size(task)) : "");
  }
  writer.flush();
}

void write_tree(const std::string& path, const TaskTree& tree,
                std::span<const std::int64_t> ids) {
  write_file(path, [&](std::ostream& out) { write_tree(out, tree, ids); });
}

void write_order(const std::string& path, std::span<const TaskId> order,
                 std::span<const std::int64_t> ids) {
  write_file(path, [&](std::ostream& out) {
    TextOutput writer(out);
    for (const TaskId task : order) writer.line("{}", id_of(task, ids));
    writer.flush();
  });
}

}  // namespace espalier
