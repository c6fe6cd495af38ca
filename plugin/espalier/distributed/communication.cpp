#include "espalier/distributed/communication.h"

#include <algorithm>
#include <cmath>
#include <span>

#include "espalier/distributed/met_processes.h"
#include "espalier/distributed/task_cut.h"
#include "espalier/distributed/task_overflow.h"

namespace espalier {
namespace {

double rounds(std::int64_t processes) {
  return std::ceil(std::log2(static_cast<double>(processes)));
}

class TrafficCounter {
 public:
  TrafficCounter(const TaskTree& tree, const Distribution& distribution,
                 const Network& network, FrontCut cut)
      : tree_(tree),
        distribution_(distribution),
        network_(network),
        cut_(cut),
        here_(static_cast<std::size_t>(distribution.processes)) {}

  Traffic of(TaskId task) {
    if (!distribution_.shared(task)) return {};
    Traffic result = move_outputs(task);
    const Traffic panels = broadcast_panels(task);
    result.volume = checked_add(result.volume, panels.volume);
    result.messages += panels.messages;
    result.time += panels.time;
    return result;
  }

 private:
  struct Here {  // at a process, of the task at hand
    Bytes held = 0;
    std::int32_t pieces = 0;
  };

  Traffic move_outputs(TaskId task) {
    for_each_input(
        tree_, task, [this](TaskId child) { return distribution_.owners(child); },
        [this](std::int32_t process, Bytes bytes) { here_.meet(process).held += bytes; });
    std::int32_t pieces = 0;
    for (const Owner& owner : distribution_.owners(task)) {
      here_.meet(owner.process).pieces = owner.pieces;
      pieces += owner.pieces;
    }
    Traffic moved;
    Bytes most = 0;
    std::int64_t most_messages = 0;
    const auto owners = static_cast<std::int64_t>(distribution_.owners(task).size());
    for (const std::int32_t process : here_.who()) {
      const Here& at = here_[process];
      const Bytes stays = fraction_of(at.held, at.pieces, pieces);
      const Bytes comes = fraction_of(tree_.input_size(task), at.pieces, pieces) - stays;
      const std::int64_t messages =
          at.held > stays ? owners - (at.pieces > 0 ? 1 : 0) : 0;
      moved.volume += at.held - stays;
      moved.messages += messages;
      most = std::max({most, at.held - stays, comes});
      most_messages = std::max(most_messages, messages);
    }
    here_.forget();
    moved.time = static_cast<double>(most_messages) * network_.latency +
                 static_cast<double>(most) / network_.bandwidth;
    return moved;
  }

  [[nodiscard]] Traffic broadcast_panels(TaskId task) const {
    const auto owners = distribution_.owners(task);
    const auto q = static_cast<std::int64_t>(owners.size());
    const Bytes panels = tree_.retained_size(task);
    if (q == 1 || panels == 0) return {};
    double pieces = 0;
    for (const Owner& owner : owners) pieces += owner.pieces;
    const double share = static_cast<double>(panels) /
                         static_cast<double>(panels + tree_.output_size(task));
    const double columns = std::ceil(std::sqrt(pieces) * share);
    const auto rows_of_grid =
        cut_ == FrontCut::kColumns
            ? std::int64_t{1}
            : static_cast<std::int64_t>(std::sqrt(static_cast<double>(q)));
    const std::int64_t columns_of_grid = (q + rows_of_grid - 1) / rows_of_grid;
    const std::int64_t copies = rows_of_grid + columns_of_grid - 2;
    const double sent = cut_ == FrontCut::kColumns ? columns : std::ceil(pieces * share);
    Traffic result;
    result.volume = checked_mul(panels, copies);
    result.messages = static_cast<std::int64_t>(sent) * copies;
    result.time =
        columns * (rounds(rows_of_grid) + rounds(columns_of_grid)) * network_.latency +
        static_cast<double>(result.volume) / static_cast<double>(q) / network_.bandwidth;
    return result;
  }

  const TaskTree& tree_;
  const Distribution& distribution_;
  const Network& network_;
  FrontCut cut_;
  MetProcesses<Here> here_;
};

}  // namespace

std::vector<Traffic> task_traffic(const TaskTree& tree, const Distribution& distribution,
                                  const Network& network, FrontCut cut) {
  TrafficCounter counter(tree, distribution, network, cut);
  std::vector<Traffic> result(tree.size());
  for (const TaskId task : distribution.witness) {
    result[index(task)] = naming(task, [&] { return counter.of(task); });
  }
  return result;
}

}  // namespace espalier
