#include "espalier/sequential/dag/linearise.h"

#include <algorithm>
#include <utility>

#include "espalier/sequential/dag/decompose.h"
#include "espalier/sequential/dag/post_dominators.h"

namespace espalier {
namespace {

std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }

// A block that changes: tasks and data are added and removed, none is renumbered.
class Lineariser {
 public:
  Lineariser(const Block& block, const LineariseLimits& limits)
      : limits_(limits), data_(block.data), nodes_(block.size()) {
    for (std::size_t i = 0; i < block.size(); ++i) nodes_[i].cost = block.cost[i];
    for (std::size_t d = 0; d < data_.size(); ++d) {
      const auto datum = static_cast<std::int32_t>(d);
      // Who reads what is there all the time does not matter.
      if (data_[d].producer < 0 && data_[d].stays) data_[d].readers.clear();
      if (data_[d].producer >= 0) node(data_[d].producer).outputs.push_back(datum);
      for (const std::int32_t reader : data_[d].readers) {
        node(reader).inputs.push_back(datum);
      }
    }
  }

  void run(const BlockIndex& index) {
    const std::vector<std::int32_t> first_common = post_dominators(index);
    const std::vector<std::int32_t> order = index.topological_order();
    for (auto task = order.rbegin(); task != order.rend(); ++task) {
      if (limits_.stop && limits_.stop()) return;
      const std::int32_t end = first_common[at(*task)];
      if (index.successors(*task).size() < 2 || end < 0) continue;
      node(*task).is_hard = !shorten_chains(*task, end) || !replace_between(*task, end);
    }
  }

  [[nodiscard]] LinearisedBlock take() {
    LinearisedBlock result;
    std::vector<std::int32_t> number(nodes_.size(), -1);
    for (std::size_t i = 0; i < nodes_.size(); ++i) {
      if (nodes_[i].is_gone) continue;
      number[i] = static_cast<std::int32_t>(result.block.size());
      result.block.cost.push_back(nodes_[i].cost);
      result.tasks.push_back(expanded(static_cast<std::int32_t>(i)));
    }
    for (BlockDatum& datum : data_) {
      if (datum.producer < 0 && datum.readers.empty() && !datum.stays) continue;
      if (datum.producer >= 0) datum.producer = number[at(datum.producer)];
      for (std::int32_t& reader : datum.readers) reader = number[at(reader)];
      result.block.data.push_back(std::move(datum));
    }
    return result;
  }

 private:
  struct Node {
    Bytes cost = 0;
    std::vector<std::int32_t> inputs, outputs;
    std::vector<std::int32_t> stands_for = {};  // nodes that are gone; empty: itself
    bool is_gone = false;
    bool is_hard = false;  // no region that holds it can be replaced
  };

  Node& node(std::int32_t task) { return nodes_[at(task)]; }
  BlockDatum& datum(std::int32_t number) { return data_[at(number)]; }

  std::vector<std::int32_t> successors(std::int32_t task) {
    std::vector<std::int32_t> after;
    for (const std::int32_t output : node(task).outputs) {
      const auto& readers = datum(output).readers;
      after.insert(after.end(), readers.begin(), readers.end());
    }
    std::sort(after.begin(), after.end());
    after.erase(std::unique(after.begin(), after.end()), after.end());
    return after;
  }

  [[nodiscard]] bool follows_only(std::int32_t task, std::int32_t before) {
    const auto& inputs = node(task).inputs;
    return std::all_of(inputs.begin(), inputs.end(), [&](std::int32_t input) {
      return datum(input).producer < 0 || datum(input).producer == before;
    });
  }

  // Chains that begin at the successors of `start`: what follows the first task becomes
  // its segments. False: something hard is on the way.
  bool shorten_chains(std::int32_t start, std::int32_t end) {
    for (const std::int32_t head : successors(start)) {
      if (head == end) continue;
      TaskSet chain;
      std::int32_t last = head, after = -1;
      for (;;) {
        if (node(last).is_hard) return false;
        const std::vector<std::int32_t> next = successors(last);
        after = next.size() == 1 ? next.front() : -1;
        if (after < 0 || after == end || !follows_only(after, last)) break;
        chain.push_back(last = after);
      }
      if (chain.size() > 1 && after >= 0 && !replace(head, chain, after)) return false;
    }
    return true;
  }

  // What all ways from `start` to `end` pass; empty: too much, or something hard.
  TaskSet between(std::int32_t start, std::int32_t end) {
    TaskSet found;
    is_inside_.resize(nodes_.size(), false);
    std::vector<std::int32_t> stack = successors(start);
    bool fits = true;
    while (!stack.empty() && fits) {
      const std::int32_t task = stack.back();
      stack.pop_back();
      if (task == end || is_inside_[at(task)]) continue;
      is_inside_[at(task)] = true;
      found.push_back(task);
      fits = !node(task).is_hard && found.size() <= limits_.tasks;
      const auto after = successors(task);
      stack.insert(stack.end(), after.begin(), after.end());
    }
    for (const std::int32_t task : found) is_inside_[at(task)] = false;
    if (!fits) found.clear();
    return found;
  }

  // A region as a block of its own, and what of its data comes from outside.
  struct Region {
    Block block;
    std::vector<std::int32_t> data;          // of the whole, by datum of the block
    Bytes from_start = 0, from_outside = 0;  // sizes: written by `start`, by nobody
    Bytes kept = 0;                          // written inside, to stay to the end
  };

  // False: the datum ties the region to tasks outside.
  bool add_datum(std::int32_t number, std::int32_t start, std::int32_t end,
                 Region& region) {
    const BlockDatum& whole = datum(number);
    BlockDatum part{whole.size, -1, {}, whole.stays};
    if (whole.producer >= 0) part.producer = number_[at(whole.producer)];
    if (part.producer < 0 && whole.producer >= 0 && whole.producer != start) return false;
    for (const std::int32_t reader : whole.readers) {
      if (number_[at(reader)] >= 0) {
        part.readers.push_back(number_[at(reader)]);
      } else if (reader == end || (part.producer < 0 && whole.stays)) {
        part.stays = true;
      } else {
        return false;
      }
    }
    if (part.producer >= 0 && whole.stays) region.kept += whole.size;
    if (part.producer < 0 && !part.stays) {
      (whole.producer < 0 ? region.from_outside : region.from_start) += whole.size;
    }
    if (part.producer < 0 && part.stays) part.size = 0;  // there all the time
    region.block.data.push_back(std::move(part));
    region.data.push_back(number);
    return true;
  }

  bool make_region(std::int32_t start, const TaskSet& tasks, std::int32_t end,
                   Region& region) {
    number_.resize(nodes_.size(), -1);
    for (std::size_t k = 0; k < tasks.size(); ++k) {
      number_[at(tasks[k])] = static_cast<std::int32_t>(k);
      region.block.cost.push_back(node(tasks[k]).cost);
    }
    std::vector<std::int32_t> touched;
    for (const std::int32_t task : tasks) {
      const Node& of = node(task);
      touched.insert(touched.end(), of.inputs.begin(), of.inputs.end());
      touched.insert(touched.end(), of.outputs.begin(), of.outputs.end());
    }
    std::sort(touched.begin(), touched.end());
    touched.erase(std::unique(touched.begin(), touched.end()), touched.end());
    const bool is_isolated = std::all_of(
        touched.begin(), touched.end(),
        [&](std::int32_t number) { return add_datum(number, start, end, region); });
    for (const std::int32_t task : tasks) number_[at(task)] = -1;
    return is_isolated;
  }

  // False: too large or too many downsets.
  bool replace_between(std::int32_t start, std::int32_t end) {
    const TaskSet tasks = between(start, end);
    if (tasks.empty()) return false;
    return tasks.size() == 1 || replace(start, tasks, end);
  }

  // Puts a path of segments between `start` and `end` in place of `tasks`; nothing when
  // other tasks touch them. False: too many downsets.
  bool replace(std::int32_t start, const TaskSet& tasks, std::int32_t end) {
    Region region;
    if (!make_region(start, tasks, end, region)) return true;
    std::vector<TaskId> names(tasks.size()), next(tasks.size());
    for (std::size_t k = 0; k < names.size(); ++k) names[k] = task_id(k);
    const auto profile = dominant_profile(
        region.block, names, next, {.downsets = limits_.downsets, .stop = limits_.stop});
    if (!profile) return false;
    remove(tasks, region);
    std::vector<std::int32_t> path;
    for (const Segment& segment : *profile) {
      path.push_back(add_node(segment.peak));
      for (const TaskId id : rope(segment, next)) {
        node(path.back()).stands_for.push_back(tasks[index(id)]);
      }
    }
    connect(start, path, *profile, region);
    read(end, nodes_[at(path.back())].outputs.front());
    return true;
  }

  // The data of a path: the level between each two of its tasks.
  void connect(std::int32_t start, const std::vector<std::int32_t>& path,
               const Profile& profile, const Region& region) {
    read(path.front(), add_datum(region.from_start, start));
    if (region.from_outside > 0) read(path.front(), add_datum(region.from_outside, -1));
    Bytes level = region.from_start + region.from_outside;
    for (std::size_t k = 0; k + 1 < path.size(); ++k) {
      level += profile[k].net;
      read(path[k + 1], add_datum(level, path[k]));
    }
    add_datum(level + profile.back().net - region.kept, path.back());
    if (region.kept > 0) datum(add_datum(region.kept, path.back())).stays = true;
  }

  void remove(const TaskSet& tasks, const Region& region) {
    for (const std::int32_t task : tasks) node(task).is_gone = true;
    for (std::size_t k = 0; k < region.data.size(); ++k) {
      std::erase_if(datum(region.data[k]).readers,
                    [this](std::int32_t reader) { return node(reader).is_gone; });
      const BlockDatum& part = region.block.data[k];
      if (part.producer >= 0 || !part.stays) discard(region.data[k]);
    }
  }

  void discard(std::int32_t number) {
    BlockDatum& of = datum(number);
    for (const std::int32_t reader : of.readers) std::erase(node(reader).inputs, number);
    if (of.producer >= 0) std::erase(node(of.producer).outputs, number);
    of = BlockDatum{};
  }

  std::int32_t add_node(Bytes cost) {
    nodes_.push_back({cost, {}, {}});
    return static_cast<std::int32_t>(nodes_.size()) - 1;
  }

  std::int32_t add_datum(Bytes size, std::int32_t producer) {
    const auto number = static_cast<std::int32_t>(data_.size());
    data_.push_back({size, producer, {}, false});
    if (producer >= 0) node(producer).outputs.push_back(number);
    return number;
  }

  void read(std::int32_t task, std::int32_t number) {
    datum(number).readers.push_back(task);
    node(task).inputs.push_back(number);
  }

  // The tasks of the first block that a node stands for.
  [[nodiscard]] std::vector<std::int32_t> expanded(std::int32_t task) const {
    std::vector<std::int32_t> tasks, stack = {task};
    while (!stack.empty()) {
      const Node& of = nodes_[at(stack.back())];
      const std::int32_t top = stack.back();
      stack.pop_back();
      if (of.stands_for.empty()) tasks.push_back(top);
      stack.insert(stack.end(), of.stands_for.rbegin(), of.stands_for.rend());
    }
    return tasks;
  }

  LineariseLimits limits_;
  std::vector<BlockDatum> data_;
  std::vector<Node> nodes_;
  std::vector<bool> is_inside_;
  std::vector<std::int32_t> number_;
};

}  // namespace

LinearisedBlock linearise(const Block& block, const LineariseLimits& limits) {
  Lineariser lineariser(block, limits);
  const BlockIndex index(block);
  if (!limits.stop || !limits.stop()) lineariser.run(index);
  return lineariser.take();
}

}  // namespace espalier
