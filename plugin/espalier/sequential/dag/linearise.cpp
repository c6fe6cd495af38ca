#include "espalier/sequential/dag/linearise.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "espalier/sequential/dag/decompose.h"
#include "espalier/sequential/dag/post_dominators.h"

namespace espalier {
namespace {

// A block that changes: tasks and data are added and removed, none is renumbered.
class Lineariser {
 public:
  Lineariser(DownsetBlock block, const LineariseLimits& limits)
      : limits_(limits), data_(std::move(block.data)), nodes_(block.size()) {
    for (const BlockTaskId task : block.cost.ids()) node(task).cost = block.cost[task];
    for (const BlockDatumId datum : data_.ids()) {
      BlockDatum& of = data_[datum];
      // Who reads what is there all the time does not matter.
      if (!of.is_written() && of.stays) of.readers.clear();
      if (of.is_written()) node(of.producer).outputs.push_back(datum);
      for (const BlockTaskId reader : of.readers) {
        node(reader).inputs.push_back(datum);
      }
    }
  }

  void run(const BlockIndex& index) {
    const auto first_common = post_dominators(index);
    if (is_stopped()) return;
    const std::vector<BlockTaskId> order = index.topological_order();
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
      if (is_stopped()) return;
      const BlockTaskId end = first_common[*task];
      if (index.successors(*task).size() < 2 || end == kNoBlockTask) continue;
      node(*task).is_hard = !shorten_chains(*task, end) || !replace_between(*task, end);
    }
  }

  [[nodiscard]] bool is_stopped() const { return limits_.stop && limits_.stop(); }

  [[nodiscard]] LinearisedBlock take() {
    LinearisedBlock result;
    IdVector<BlockTaskId, BlockTaskId> number(nodes_.size(), kNoBlockTask);
    for (const BlockTaskId task : nodes_.ids()) {
      if (node(task).is_gone) continue;
      number[task] = result.block.cost.push_back(node(task).cost);
      result.tasks.push_back(expanded(task));
    }
    for (BlockDatum& datum : data_) {
      if (!datum.is_written() && datum.readers.empty() && !datum.stays) continue;
      if (datum.is_written()) datum.producer = number[datum.producer];
      for (BlockTaskId& reader : datum.readers) reader = number[reader];
      result.block.data.push_back(std::move(datum));
    }
    return result;
  }

 private:
  struct Node {
    Bytes cost = 0;
    std::vector<BlockDatumId> inputs, outputs;
    std::vector<BlockTaskId> stands_for = {};  // nodes that are gone; empty: itself
    bool is_gone = false;
    bool is_hard = false;  // no region that holds it can be replaced
  };

  Node& node(BlockTaskId task) { return nodes_[task]; }
  BlockDatum& datum(BlockDatumId number) { return data_[number]; }

  std::vector<BlockTaskId> successors(BlockTaskId task) {
    std::vector<BlockTaskId> after;
    for (const BlockDatumId output : node(task).outputs) {
      const auto& readers = datum(output).readers;
      after.insert(after.end(), readers.begin(), readers.end());
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
  }

  [[nodiscard]] bool follows_only(BlockTaskId task, BlockTaskId before) {
    const auto& inputs = node(task).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](BlockDatumId input) {
      return !datum(input).is_written() || datum(input).producer == before;
    });
  }

  // Chains that begin at the successors of `start`: what follows the first task becomes
  // its segments. False: something hard is on the way.
  bool shorten_chains(BlockTaskId start, BlockTaskId end) {
    for (const BlockTaskId head : successors(start)) {
      if (head == end) continue;
      TaskSet chain;
      BlockTaskId last = head, after = kNoBlockTask;
      for (;;) {
        if (node(last).is_hard) return false;
        const std::vector<BlockTaskId> next = successors(last);
        after = next.size() == 1 ? next.front() : kNoBlockTask;
        if (after == kNoBlockTask || after == end || !follows_only(after, last)) break;
        chain.push_back(last = after);
      }
      if (chain.size() > 1 && after != kNoBlockTask && !replace(head, chain, after))
        return false;
    }
    return true;
  }

  // What all ways from `start` to `end` pass; empty: too much, or something hard.
  TaskSet between(BlockTaskId start, BlockTaskId end) {
    TaskSet found;
    is_inside_.resize(nodes_.size(), false);
    std::vector<BlockTaskId> stack = successors(start);
    bool fits = true;
    while (!stack.empty() && fits) {
      const BlockTaskId task = stack.back();
      stack.pop_back();
      if (task == end || is_inside_[task]) continue;
      is_inside_[task] = true;
      found.push_back(task);
      fits = !node(task).is_hard && found.size() <= limits_.tasks;
      const auto after = successors(task);
      stack.insert(stack.end(), after.begin(), after.end());
    }
    for (const BlockTaskId task : found) is_inside_[task] = false;
    if (!fits) found.clear();
    return found;
  }

  // A region as a block of its own, and what of its data comes from outside.
  struct Region {
    DownsetBlock block;
    IdVector<BlockDatumId, BlockDatumId> data;  // of the whole, by datum of the block
    Bytes from_start = 0, from_outside = 0;     // sizes: written by `start`, by nobody
    Bytes kept = 0;                             // written inside, to stay to the end
  };

  // False: the datum ties the region to tasks outside.
  bool add_datum(BlockDatumId number, BlockTaskId start, BlockTaskId end,
                 Region& region) {
    const BlockDatum& whole = datum(number);
    BlockDatum part{whole.size, kNoBlockTask, {}, whole.stays};
    if (whole.is_written()) part.producer = number_[whole.producer];
    if (!part.is_written() && whole.is_written() && whole.producer != start) return false;
    for (const BlockTaskId reader : whole.readers) {
      if (number_[reader] != kNoBlockTask) {
        part.readers.push_back(number_[reader]);
      } else if (reader == end || (!part.is_written() && whole.stays)) {
        part.stays = true;
      } else {
        return false;
      }
    }
    if (part.is_written() && whole.stays) region.kept += whole.size;
    if (!part.is_written() && !part.stays) {
      (!whole.is_written() ? region.from_outside : region.from_start) += whole.size;
    }
    if (!part.is_written() && part.stays) part.size = 0;  // there all the time
    region.block.data.push_back(std::move(part));
    region.data.push_back(number);
    return true;
  }

  bool make_region(BlockTaskId start, const TaskSet& tasks, BlockTaskId end,
                   Region& region) {
    number_.resize(nodes_.size(), kNoBlockTask);
    for (const BlockTaskId task : tasks) {
      number_[task] = region.block.cost.push_back(node(task).cost);
    }
    std::vector<BlockDatumId> touched;
    for (const BlockTaskId task : tasks) {
      const Node& of = node(task);
      touched.insert(touched.end(), of.inputs.begin(), of.inputs.end());
      touched.insert(touched.end(), of.outputs.begin(), of.outputs.end());
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    const bool is_isolated = std::all_of(
        touched.begin(), touched.end(),
        [&](BlockDatumId number) { return add_datum(number, start, end, region); });
    for (const BlockTaskId task : tasks) number_[task] = kNoBlockTask;
    return is_isolated;
  }

  // False: too large or too many downsets.
  bool replace_between(BlockTaskId start, BlockTaskId end) {
    const TaskSet tasks = between(start, end);
    if (tasks.empty()) return false;
    return tasks.size() == 1 || replace(start, tasks, end);
  }

  // Puts a path of segments between `start` and `end` in place of `tasks`; nothing when
  // other tasks touch them. False: too many downsets.
  bool replace(BlockTaskId start, const TaskSet& tasks, BlockTaskId end) {
    Region region;
    if (!make_region(start, tasks, end, region)) return true;
    std::vector<TaskId> names(tasks.size()), next(tasks.size());
    for (std::size_t k = 0; k < names.size(); ++k) names[k] = task_id(k);
    const auto profile = dominant_profile(
        region.block, names, next, {.downsets = limits_.downsets, .stop = limits_.stop});
    if (!profile) return false;
    remove(tasks, region);
    std::vector<BlockTaskId> path;
    for (const Segment& segment : *profile) {
      path.push_back(add_node(segment.peak));
      for (const TaskId id : rope(segment, next)) {
        node(path.back()).stands_for.push_back(tasks[index(id)]);
      }
    }
    connect(start, path, *profile, region);
    read(end, nodes_[path.back()].outputs.front());
    return true;
  }

  // The data of a path: the level between each two of its tasks.
  void connect(BlockTaskId start, const std::vector<BlockTaskId>& path,
               const Profile& profile, const Region& region) {
    read(path.front(), add_datum(region.from_start, start));
    if (region.from_outside > 0)
      read(path.front(), add_datum(region.from_outside, kNoBlockTask));
    Bytes level = region.from_start + region.from_outside;
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      level += profile[k].net;
      read(path[k + 1], add_datum(level, path[k]));
    }
    add_datum(level + profile.back().net - region.kept, path.back());
    if (region.kept > 0) datum(add_datum(region.kept, path.back())).stays = true;
  }

  void remove(const TaskSet& tasks, const Region& region) {
    for (const BlockTaskId task : tasks) node(task).is_gone = true;
    for (const BlockDatumId k : region.data.ids()) {
      std::erase_if(datum(region.data[k]).readers,
                    [this](BlockTaskId reader) { return node(reader).is_gone; });
      const BlockDatum& part = region.block.data[k];
      if (part.is_written() || !part.stays) discard(region.data[k]);
    }
  }

  void discard(BlockDatumId number) {
    BlockDatum& of = datum(number);
    for (const BlockTaskId reader : of.readers) std::erase(node(reader).inputs, number);
    if (of.is_written()) std::erase(node(of.producer).outputs, number);
    of = BlockDatum{};
  }

  BlockTaskId add_node(Bytes cost) { return nodes_.push_back({cost, {}, {}}); }

  BlockDatumId add_datum(Bytes size, BlockTaskId producer) {
    const BlockDatumId number = data_.push_back({size, producer, {}, false});
    if (producer != kNoBlockTask) node(producer).outputs.push_back(number);
    return number;
  }

  void read(BlockTaskId task, BlockDatumId number) {
    datum(number).readers.push_back(task);
    node(task).inputs.push_back(number);
  }

  // The tasks of the first block that a node stands for.
  [[nodiscard]] std::vector<BlockTaskId> expanded(BlockTaskId task) const {
    std::vector<BlockTaskId> tasks, stack = {task};
    while (!stack.empty()) {
      const Node& of = nodes_[stack.back()];
      const BlockTaskId top = stack.back();
      stack.pop_back();
      if (of.stands_for.empty()) tasks.push_back(top);
      stack.insert(stack.end(), of.stands_for.rbegin(), of.stands_for.rend());
    }
    return tasks;
  }

  LineariseLimits limits_;
  IdVector<BlockDatumId, BlockDatum> data_;
  IdVector<BlockTaskId, Node> nodes_;
  IdVector<BlockTaskId, bool> is_inside_;
  IdVector<BlockTaskId, BlockTaskId> number_;
};

}  // namespace

LinearisedBlock linearise(DownsetBlock block, const LineariseLimits& limits) {
  std::optional<BlockIndex> index;
  if (!limits.stop || !limits.stop()) index.emplace(block);
  Lineariser lineariser(std::move(block), limits);
  if (index && !lineariser.is_stopped()) lineariser.run(*index);
  index.reset();
  return lineariser.take();
}

}  // namespace espalier
