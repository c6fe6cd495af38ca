#include "espalier/sequential/out_of_core/rec_expand.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/sequential/out_of_core/furthest_in_future.h"
#include "espalier/sequential/segments/profile.h"
#include "espalier/sequential/tree/liu_traversal.h"

namespace espalier {
namespace {

constexpr std::size_t kLeastWindow = 64;
constexpr std::size_t kNodesInAll = 10'000'000;  // window times tasks, at the default

// Tasks of the whole tree that run one after the other; none in a node that only writes
// or reads.
using Rope = std::optional<std::pair<TaskId, TaskId>>;  // first, last

Rope joined(const Rope& a, const Rope& b, std::span<TaskId> next) {
  if (!a || !b) return a ? a : b;
  next[index(a->second)] = b->first;
  return Rope(std::in_place, a->first, b->second);
}

// A subtree, expanded and contracted. Nodes are numbered within it.
struct SubtreePiece {
  std::vector<Task> nodes;
  std::vector<Rope> ropes;  // by node
  std::size_t root = 0;
  Bytes peak = 0;  // that suffices for it, perhaps with the disk

  // `other` as one more subtree. @return its root
  std::size_t adopt(const SubtreePiece& other) {
    const std::size_t offset = nodes.size();
    nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
    ropes.insert(ropes.end(), other.ropes.begin(), other.ropes.end());
    for (std::size_t i = offset; i < nodes.size(); ++i) {
      if (nodes[i].parent) nodes[i].parent = task_id(index(*nodes[i].parent) + offset);
    }
    return offset + other.root;
  }

  void push(const Task& node, const Rope& rope) {
    nodes.push_back(node);
    ropes.push_back(rope);
  }

  // The chain of the header in the place of `node`: its own number is now that of the
  // node that reads, so that who comes after keeps its inputs.
  void expand(std::size_t node, Bytes leaves) {
    const Bytes output = nodes[node].output_size;
    const TaskId writes = task_id(nodes.size() + 1);
    for (Task& task : nodes) {
      if (task.parent == task_id(node)) task.parent = task_id(nodes.size());
    }
    Task moved = nodes[node];
    moved.parent = writes;
    nodes[node].execution_size = leaves - output;
    push(moved, std::exchange(ropes[node], std::nullopt));
    push({task_id(node), output - leaves, leaves - output}, std::nullopt);
  }
};

// What is known of a piece once it has been run.
struct PieceRun {
  Traversal liu;
  OutOfCorePlan plan;
  detail::OutOfCoreLevels levels;
};

PieceRun run(const SubtreePiece& piece, Bytes bound) {
  const TaskTree tree(piece.nodes);
  PieceRun result;
  result.liu = liu_traversal(tree);
  result.plan = detail::furthest_in_future(tree, result.liu.order, bound, &result.levels);
  return result;
}

// The node that the header takes, and how many of its bytes leave.
std::pair<std::size_t, Bytes> choose(const OutOfCorePlan& plan) {
  std::vector<Bytes> leaves(plan.order.size(), 0);
  for (const Eviction& e : plan.evictions) leaves[index(e.task)] += e.bytes;
  const auto later = [&](const Eviction& a, const Eviction& b) {
    return std::tuple(a.read_at, leaves[index(a.task)], a.task) <
           std::tuple(b.read_at, leaves[index(b.task)], b.task);
  };
  const TaskId task =
      std::max_element(plan.evictions.begin(), plan.evictions.end(), later)->task;
  return {index(task), leaves[index(task)]};
}

class RecExpand {
 public:
  RecExpand(const TaskTree& tree, Bytes bound, const RecExpandOptions& options)
      : tree_(tree),
        bound_(bound),
        options_(options),
        next_(tree.size()),
        pieces_(tree.size()) {
    if (options_.window == 0) {
      options_.window =
          std::max(kLeastWindow, kNodesInAll / std::max<std::size_t>(1, tree.size()));
    }
    options_.window = std::max<std::size_t>(2, options_.window);
  }

  std::vector<TaskId> run_all() {
    for (const TaskId task : tree_.postorder()) visit(task);
    std::vector<TaskId> order;
    order.reserve(tree_.size());
    for (const TaskId root : tree_.roots()) {
      SubtreePiece& piece = pieces_[index(root)];
      write_out(rope_of(piece, liu_traversal(TaskTree(piece.nodes)).order), order);
      piece = {};
    }
    return order;
  }

 private:
  void visit(TaskId task) {
    SubtreePiece piece = gather(task);
    if (piece.peak > bound_) {
      PieceRun last = expand(piece);
      piece.peak = last.liu.peak;
      if (piece.nodes.size() > options_.window) piece = contracted(piece, last);
    }
    pieces_[index(task)] = std::move(piece);
  }

  // The children's pieces below the task, the largest one without being copied. Its peak
  // is that of one child after the other, an upper bound.
  SubtreePiece gather(TaskId task) {
    const std::span<const TaskId> children = tree_.children(task);
    SubtreePiece piece;
    std::optional<TaskId> largest;
    for (const TaskId child : children) {
      if (!largest || nodes_of(child) > nodes_of(*largest)) largest = child;
    }
    std::vector<std::size_t> tops;
    if (largest) {
      piece = std::exchange(pieces_[index(*largest)], {});
      tops.push_back(piece.root);
    }
    by_key_.clear();
    for (const TaskId child : children) {
      const Bytes output = tree_.output_size(child);
      const Bytes peak = child == *largest ? piece.peak : pieces_[index(child)].peak;
      by_key_.emplace_back(output - peak, output);
      if (child == *largest) continue;
      tops.push_back(piece.adopt(pieces_[index(child)]));
      pieces_[index(child)] = {};
    }
    for (const std::size_t top : tops)
      piece.nodes[top].parent = task_id(piece.nodes.size());
    piece.root = piece.nodes.size();
    piece.push({std::nullopt, tree_.output_size(task), tree_.execution_size(task)},
               Rope(std::in_place, task, task));
    piece.peak = std::max(one_after_the_other(), tree_.memory_requirement(task));
    return piece;
  }

  Bytes one_after_the_other() {
    std::sort(by_key_.begin(), by_key_.end());
    Bytes peak = 0, before = 0;
    for (const auto& [key, output] : by_key_) {
      peak = std::max(peak, before + output - key);
      before += output;
    }
    return peak;
  }

  [[nodiscard]] std::size_t nodes_of(TaskId task) const {
    return pieces_[index(task)].nodes.size();
  }

  // @return how the piece runs in the end
  PieceRun expand(SubtreePiece& piece) const {
    const std::size_t most = std::min(options_.expansions, piece.nodes.size());
    PieceRun result = run(piece, bound_);
    for (std::size_t k = 0; k < most && !result.plan.evictions.empty(); ++k) {
      const auto [node, leaves] = choose(result.plan);
      piece.expand(node, leaves);
      result = run(piece, bound_);
    }
    return result;
  }

  // One node for each segment of what is in memory.
  SubtreePiece contracted(const SubtreePiece& piece, const PieceRun& last) {
    std::vector<TaskId> next(piece.nodes.size());
    Profile segments = profile_of(last, next);
    while (segments.size() > options_.window / 2) halve(segments, next);
    SubtreePiece result;
    result.peak = std::min(bound_, piece.peak);
    Bytes level = 0;
    for (const Segment& segment : segments) {
      level += segment.net;
      const Rope all = rope_of(piece, rope(segment, next));
      result.push({task_id(result.nodes.size() + 1), level, segment.peak - level}, all);
    }
    result.root = result.nodes.size() - 1;
    result.nodes[result.root].parent.reset();
    return result;
  }

  // Hills and valleys: the canonical profile.
  static Profile profile_of(const PieceRun& last, std::span<TaskId> next) {
    Profile segments;
    Bytes before = 0;
    for (std::size_t k = 0; k < last.plan.order.size(); ++k) {
      const Bytes running = last.levels.running[k], after = last.levels.after[k];
      const TaskId node = last.plan.order[k];
      append(segments, {running - before, after - before, node, node}, next);
      before = after;
    }
    return segments;
  }

  // Every second valley is given up.
  static void halve(Profile& segments, std::span<TaskId> next) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < segments.size(); k += 2) {
      const bool pair = k + 1 < segments.size();
      segments[kept++] = pair ? concat(segments[k], segments[k + 1], next) : segments[k];
    }
    segments.resize(kept);
  }

  Rope rope_of(const SubtreePiece& piece, std::span<const TaskId> order) {
    Rope rope;
    for (const TaskId node : order) rope = joined(rope, piece.ropes[index(node)], next_);
    return rope;
  }

  void write_out(const Rope& rope, std::vector<TaskId>& order) const {
    if (!rope) return;
    for (TaskId task = rope->first;; task = next_[index(task)]) {
      order.push_back(task);
      if (task == rope->second) return;
    }
  }

  const TaskTree& tree_;
  const Bytes bound_;
  RecExpandOptions options_;
  std::vector<TaskId> next_;  // of the ropes
  std::vector<SubtreePiece> pieces_;
  std::vector<std::pair<Bytes, Bytes>> by_key_;  // scratch of gather()
};

}  // namespace

std::vector<TaskId> rec_expand(const TaskTree& tree, Bytes bound,
                               const RecExpandOptions& options) {
  ESPALIER_ASSERT(bound >= least_out_of_core(tree), "a bound that suffices");
  return RecExpand(tree, bound, options).run_all();
}

}  // namespace espalier
