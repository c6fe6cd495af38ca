// Both sweeps over the nodes, and the memory that they take: over 300 lines.

#include "solver/runtime/tree_solve.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <utility>

#include "solver/memory/read_limit.h"
#include "solver/runtime/node_sweep.h"
#include "solver/solve/grain_sums.h"
#include "solver/symbolic/front_of_column.h"

namespace espalier::solver {
namespace {

bool contains(std::span<const std::int8_t> forest, std::size_t node) {
  return forest.empty() || forest[node] != 0;
}

// Where each node's vector for its ancestors' rows begins, for one right-hand side.
std::vector<std::int64_t> out_starts(const Symbolic& symbolic, const AssemblyTree& tree,
                                     std::span<const std::int8_t> forest) {
  std::vector<std::int64_t> start(1, 0);
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const auto rows = symbolic.rows_of(tree.nodes[i].last_front);
    start.push_back(start.back() +
                    (contains(forest, i) ? static_cast<std::int64_t>(rows.size()) : 0));
  }
  return start;
}

// Of the nodes.
template <class T>
GrainSizes<T> grain_sizes(const Symbolic& symbolic, const AssemblyTree& tree,
                          std::span<const std::int8_t> forest) {
  GrainSizes<T> most;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i)
    if (contains(forest, i)) most.add(symbolic, tree.grains_of(tree.nodes[i]));
  return most;
}

template <class T>
std::int64_t most_local_entries(const FactorView<T>& view,
                                std::span<const std::int8_t> forest) {
  const FrontSolve<T> fronts(view, false);
  std::int64_t most = 0;
  for (std::size_t i = 0; i < view.tree.nodes.size(); ++i)
    if (contains(forest, i))
      most = std::max(most, fronts.local_entries(view.tree.nodes[i]));
  return most;
}

// Vectors of a front and of grains, and a place for each row that it has in theirs.
template <class T>
Bytes worker_bytes(std::int64_t local_entries, const GrainSizes<T>& grains,
                   std::int32_t count) {
  return PageBuffer::footprint(
      checked_add(checked_mul((local_entries + grains.sums) * count, sizeof(T)),
                  grains.places * static_cast<Bytes>(sizeof(std::int32_t))));
}

// Nodes whose subtree has one of the rows.
template <class T>
std::vector<std::int8_t> nodes_with(const FactorView<T>& view,
                                    std::span<const std::int32_t> rows) {
  std::vector<std::int8_t> has(view.tree.nodes.size(), rows.empty() ? 1 : 0);
  if (rows.empty()) return has;
  for (const std::int32_t row : rows)
    has[view.tree.node_of_front[front_of_column(view.symbolic, row)]] = 1;
  for (std::size_t i = 0; i < has.size(); ++i)
    if (const auto parent = view.tree.tasks.parent(task_id(i)); parent && has[i] != 0)
      has[index(*parent)] = 1;
  return has;
}

}  // namespace

template <class T>
TreeSolve<T>::TreeSolve(const FactorView<T>& view, const Runtime& runtime,
                        std::int32_t count, Bytes read_limit,
                        std::vector<std::int8_t> forest)
    : view_(view),
      runtime_(runtime),
      count_(count),
      forest_(std::move(forest)),
      local_entries_(most_local_entries(view, forest_)),
      out_start_(out_starts(view.symbolic, view.tree, forest_)),
      out_(checked_mul(out_start_.back() * count, sizeof(T))),
      read_limit_(read_limit) {
  const GrainSizes<T> grains = grain_sizes<T>(view.symbolic, view.tree, forest_);
  sum_entries_ = grains.sums;
  scratch_each_ = worker_bytes<T>(local_entries_, grains, count);
  scratch_ = PageBuffer(scratch_each_ * runtime.workers());
}

template <class T>
Bytes TreeSolve<T>::footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                              std::int32_t workers, std::int32_t count,
                              std::span<const std::int8_t> forest) {
  std::int64_t local = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    if (contains(forest, static_cast<std::size_t>(tree.node_of_front[s])))
      local = std::max(local, FrontSolve<T>::local_entries(symbolic.front_order(s),
                                                           tree.block_width[s], 0));
  const std::vector<std::int64_t> start = out_starts(symbolic, tree, forest);
  return checked_add(
      workers * worker_bytes<T>(local, grain_sizes<T>(symbolic, tree, forest), count),
      PageBuffer::footprint(checked_mul(start.back() * count, sizeof(T))));
}

template <class T>
const T* TreeSolve<T>::out(std::int32_t node) const {
  return out_vectors(node, count_).data;
}

template <class T>
Vectors<T> TreeSolve<T>::out_vectors(std::int32_t node, std::int32_t nrhs) const {
  return {out_.as<T>() + out_start_[node] * count_,
          out_start_[node + 1] - out_start_[node], nrhs};
}

// Reads a node's panels where they are in the file, inside the limit.
template <class T>
class TreeSolve<T>::Panels {
 public:
  Panels(ReadLimit& limit, const FactorView<T>& view, std::int32_t node)
      : turn_(limit, NodeStorage<T>::bytes_to_read(view, node)), storage_(view, node) {}
  [[nodiscard]] const T* data() const { return storage_.data(); }

 private:
  struct Turn {
    Turn(ReadLimit& limit, Bytes bytes) : limit_(limit), bytes_(bytes) {
      limit_.enter(bytes_);
    }
    ~Turn() { limit_.leave(bytes_); }
    ReadLimit& limit_;
    Bytes bytes_;
  };
  Turn turn_;
  NodeStorage<T> storage_;
};

// One way through the forest, or some trees of it: what is solved for, and what a node
// needs for it.
template <class T>
class TreeSolve<T>::Sweep : public NodeSweep {
 public:
  Sweep(TreeSolve& of, bool transposed, const Vectors<T>& b, IndexRange nodes)
      : NodeSweep(of.runtime_, of.view_.tree.nodes.size()),
        of_(of),
        nodes_{
            nodes.begin,
            std::min(nodes.end, static_cast<std::int32_t>(of.view_.tree.nodes.size()))},
        fronts_(of.view_, transposed, Halves::kTogether, tiles()),
        b_(b),
        read_limit_(of.read_limit_) {}

 protected:
  [[nodiscard]] bool takes_part(std::int32_t node) const {
    return node >= nodes_.begin && node < nodes_.end &&
           of_.takes_part(static_cast<std::size_t>(node));
  }
  // All of them take part where the node does, but for trees that are bundled with its.
  [[nodiscard]] std::span<const TaskId> children(std::int32_t node) const {
    const auto all =
        of_.view_.tree.tasks.children(task_id(static_cast<std::size_t>(node)));
    const auto first = std::ranges::lower_bound(all, nodes_.begin, {}, [](TaskId c) {
      return static_cast<std::int32_t>(index(c));
    });
    return {first, all.end()};
  }
  [[nodiscard]] std::optional<std::int32_t> parent(std::int32_t node) const {
    const auto above =
        of_.view_.tree.tasks.parent(task_id(static_cast<std::size_t>(node)));
    if (!above || !takes_part(static_cast<std::int32_t>(index(*above)))) return {};
    return static_cast<std::int32_t>(index(*above));
  }
  [[nodiscard]] T* local() const {
    return reinterpret_cast<T*>(of_.scratch_.data() + of_.scratch_each_ * worker_rank());
  }

  TreeSolve& of_;
  const IndexRange nodes_;
  const FrontSolve<T> fronts_;
  const Vectors<T> b_;
  ReadLimit read_limit_;
};

// From the leaves to the roots.
template <class T>
class TreeSolve<T>::Upward : public Sweep {
 public:
  Upward(TreeSolve& of, bool transposed, const Vectors<T>& b,
         std::span<const std::int32_t> rows, IndexRange nodes);
  void sweep(const Ask& ask);

 private:
  void visit(std::int32_t node) override;
  void submit_next(std::int32_t node) override {
    const auto parent = this->parent(node);
    if (parent && --waiting_[*parent] == 0) this->submit(*parent);
  }
  [[nodiscard]] GrainSums<T> sums_of(std::int32_t node) const;

  std::vector<std::int8_t> has_entries_;            // right-hand sides, in the subtree
  std::vector<std::atomic<std::int32_t>> waiting_;  // for so many nodes
};

template <class T>
TreeSolve<T>::Upward::Upward(TreeSolve& of, bool transposed, const Vectors<T>& b,
                             std::span<const std::int32_t> rows, IndexRange nodes)
    : Sweep(of, transposed, b, nodes),
      has_entries_(nodes_with(of.view_, rows)),
      waiting_(of.view_.tree.nodes.size()) {}

template <class T>
void TreeSolve<T>::Upward::sweep(const Ask& ask) {
  std::vector<std::int32_t> leaves;
  for (std::int32_t node = this->nodes_.begin; node < this->nodes_.end; ++node) {
    if (!this->takes_part(node)) continue;
    waiting_[node] = static_cast<std::int32_t>(this->children(node).size());
    if (this->children(node).empty()) leaves.push_back(node);
  }
  this->run_from(leaves, ask);
}

template <class T>
void TreeSolve<T>::Upward::visit(std::int32_t node) {
  if (has_entries_[node] == 0) return;
  const FactorView<T>& view = this->of_.view_;
  const auto grains = view.tree.grains_of(view.tree.nodes[node]);
  GrainSums<T> sums = sums_of(node);
  const Panels panels(this->read_limit_, view, node);
  for (const IndexRange& grain : grains) {
    const AncestorRows<T> ancestors =
        grain.end == grains.back().end
            ? sums.open(grain, this->of_.out_vectors(node, this->b_.count))
            : sums.open(grain);
    for (std::int32_t s = grain.begin; s < grain.end; ++s)
      this->fronts_.forward(s, panels.data(), this->b_, ancestors, this->local());
  }
}

// Of a node's grains, with what other nodes did to their rows.
template <class T>
GrainSums<T> TreeSolve<T>::Upward::sums_of(std::int32_t node) const {
  const FactorView<T>& view = this->of_.view_;
  T* const stack = this->local() + this->of_.local_entries_ * this->of_.count_;
  GrainSums<T> sums(
      view.symbolic, this->b_, stack,
      reinterpret_cast<std::int32_t*>(stack + this->of_.sum_entries_ * this->of_.count_));
  for (const TaskId child : this->children(node)) {
    const auto c = static_cast<std::int32_t>(index(child));
    if (has_entries_[c] != 0)
      sums.add_child(view.tree.nodes[c].last_front,
                     this->of_.out_vectors(c, this->b_.count));
  }
  return sums;
}

// From the roots to the leaves.
template <class T>
class TreeSolve<T>::Downward : public Sweep {
 public:
  Downward(TreeSolve& of, bool transposed, const Vectors<T>& b, const Vectors<T>& x,
           IndexRange nodes)
      : Sweep(of, transposed, b, nodes), x_(x) {}
  void sweep(const Ask& ask);

 private:
  void visit(std::int32_t node) override;
  void submit_next(std::int32_t node) override {
    for (const TaskId child : this->children(node))
      this->submit(static_cast<std::int32_t>(index(child)));
  }

  const Vectors<T> x_;
};

template <class T>
void TreeSolve<T>::Downward::sweep(const Ask& ask) {
  std::vector<std::int32_t> roots;
  for (std::int32_t node = this->nodes_.begin; node < this->nodes_.end; ++node)
    if (this->takes_part(node) && !this->parent(node)) roots.push_back(node);
  this->run_from(roots, ask);
}

template <class T>
void TreeSolve<T>::Downward::visit(std::int32_t node) {
  const AssemblyTree::Node& fronts = this->of_.view_.tree.nodes[node];
  const Panels panels(this->read_limit_, this->of_.view_, node);
  for (std::int32_t s = fronts.last_front; s >= fronts.first_front; --s)
    this->fronts_.backward(s, panels.data(), this->b_, x_, this->local());
}

template <class T>
void TreeSolve<T>::solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                         std::span<const std::int32_t> rows, const Ask& ask,
                         IndexRange nodes) {
  forward(transposed, b, rows, ask, nodes);
  backward(transposed, b, x, ask, nodes);
}

template <class T>
void TreeSolve<T>::forward(bool transposed, const Vectors<T>& b,
                           std::span<const std::int32_t> rows, const Ask& ask,
                           IndexRange nodes) {
  Upward(*this, transposed, b, rows, nodes).sweep(ask);
}

template <class T>
void TreeSolve<T>::backward(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                            const Ask& ask, IndexRange nodes) {
  Downward(*this, transposed, b, x, nodes).sweep(ask);
}

#define ESPALIER_INSTANTIATE(T) template class TreeSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
