#include "solver/runtime/tree_solve.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "solver/runtime/starpu_tasks.h"

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

template <class T>
Bytes worker_bytes(const Symbolic& symbolic, std::int64_t local_entries,
                   std::int32_t count) {
  return PageBuffer::footprint(
      checked_add(checked_mul(local_entries * count, sizeof(T)),
                  symbolic.size * static_cast<Bytes>(sizeof(std::int32_t))));
}

}  // namespace

void ReadLimit::enter(Bytes bytes) {
  if (bytes == 0) return;
  std::unique_lock lock(mutex_);
  left_.wait(lock, [&] { return used_ == 0 || used_ + bytes <= limit_; });
  used_ += bytes;
}

void ReadLimit::leave(Bytes bytes) {
  if (bytes == 0) return;
  const std::scoped_lock lock(mutex_);
  used_ -= bytes;
  left_.notify_all();
}

template <class T>
TreeSolve<T>::TreeSolve(const FactorView<T>& view, const Runtime& runtime,
                        std::int32_t count, Bytes read_limit,
                        std::vector<std::int8_t> forest)
    : view_(view),
      count_(count),
      forest_(std::move(forest)),
      local_entries_(most_local_entries(view, forest_)),
      out_start_(out_starts(view.symbolic, view.tree, forest_)),
      out_(checked_mul(out_start_.back() * count, sizeof(T))),
      scratch_each_(worker_bytes<T>(view.symbolic, local_entries_, count)),
      read_limit_(read_limit),
      waiting_(view.tree.nodes.size()),
      has_entries_(view.tree.nodes.size(), 1),
      group_(runtime) {
  scratch_ = PageBuffer(scratch_each_ * runtime.workers());
  for (std::size_t i = 0; i < view.tree.nodes.size(); ++i)
    arguments_.push_back({this, static_cast<std::int32_t>(i)});
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
  return checked_add(workers * worker_bytes<T>(symbolic, local, count),
                     PageBuffer::footprint(checked_mul(
                         out_starts(symbolic, tree, forest).back() * count, sizeof(T))));
}

// Nodes whose subtree has one of the rows.
template <class T>
void TreeSolve<T>::mark(std::span<const std::int32_t> rows) {
  const TaskTree& tasks = view_.tree.tasks;
  std::fill(has_entries_.begin(), has_entries_.end(), rows.empty() ? 1 : 0);
  if (rows.empty()) return;
  const auto& first = view_.symbolic.first_column;
  for (const std::int32_t row : rows) {
    const auto front = std::upper_bound(first.begin(), first.end(), row) - first.begin();
    has_entries_[view_.tree.node_of_front[front - 1]] = 1;
  }
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (const auto parent = tasks.parent(task_id(i)); parent && has_entries_[i] != 0)
      has_entries_[index(*parent)] = 1;
}

template <class T>
void TreeSolve<T>::solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                         std::span<const std::int32_t> rows) {
  forward(transposed, b, rows);
  backward(transposed, b, x);
}

template <class T>
void TreeSolve<T>::forward(bool transposed, const Vectors<T>& b,
                           std::span<const std::int32_t> rows) {
  b_ = b;
  mark(rows);
  run_phase(transposed, true);
}

template <class T>
void TreeSolve<T>::backward(bool transposed, const Vectors<T>& b, const Vectors<T>& x) {
  b_ = b;
  x_ = x;
  run_phase(transposed, false);
}

template <class T>
Vectors<T> TreeSolve<T>::out(std::int32_t node) const {
  return {out_.as<T>() + out_start_[node] * count_,
          out_start_[node + 1] - out_start_[node], b_.count};
}

// In the forest.
template <class T>
std::optional<std::int32_t> TreeSolve<T>::parent(std::int32_t node) const {
  const auto above = view_.tree.tasks.parent(task_id(static_cast<std::size_t>(node)));
  if (!above || !takes_part(index(*above))) return std::nullopt;
  return static_cast<std::int32_t>(index(*above));
}

template <class T>
void TreeSolve<T>::run_phase(bool transposed, bool forward) {
  const TaskTree& tasks = view_.tree.tasks;
  const FrontSolve<T> fronts(view_, transposed);
  fronts_ = &fronts;
  is_forward_ = forward;
  stopped_ = false;
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    if (!takes_part(i)) continue;
    const auto children = static_cast<std::int32_t>(tasks.children(task_id(i)).size());
    const auto node = static_cast<std::int32_t>(i);
    waiting_[i] = children;
    if (forward ? children == 0 : !parent(node)) first.push_back(node);
  }
  for (const std::int32_t node : first) submit(node);
  group_.wait();
  fronts_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

template <class T>
void TreeSolve<T>::submit(std::int32_t node) {
  static starpu_codelet codelet = make_codelet(run_node, "solve");
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = &arguments_[node];
  try {
    group_.submit(task);
  } catch (...) {
    stop();
  }
}

template <class T>
void TreeSolve<T>::stop() noexcept {
  const std::scoped_lock lock(mutex_);
  if (!error_) error_ = std::current_exception();
  stopped_ = true;
}

template <class T>
void TreeSolve<T>::run_node(void* /*buffers*/[], void* argument) noexcept {
  const auto [self, node] = *static_cast<const Argument*>(argument);
  const TaskTree& tasks = self->view_.tree.tasks;
  const TaskId task = task_id(static_cast<std::size_t>(node));
  const bool forward = self->is_forward_;
  if (!self->stopped_) {
    try {
      forward ? self->forward_node(node) : self->backward_node(node);
    } catch (...) {
      self->stop();
    }
  }
  if (!forward) {
    for (const TaskId child : tasks.children(task))
      self->submit(static_cast<std::int32_t>(index(child)));
    return;
  }
  if (const auto parent = self->parent(node); parent && --self->waiting_[*parent] == 0)
    self->submit(*parent);
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

template <class T>
void TreeSolve<T>::forward_node(std::int32_t node) {
  if (has_entries_[node] == 0) return;
  const Symbolic& symbolic = view_.symbolic;
  const AssemblyTree::Node& fronts = view_.tree.nodes[node];
  std::byte* const mine = scratch_.data() + scratch_each_ * worker_rank();
  auto* const place = reinterpret_cast<std::int32_t*>(
      mine + local_entries_ * count_ * static_cast<Bytes>(sizeof(T)));
  const auto rows = symbolic.rows_of(fronts.last_front);
  const Vectors<T> out = this->out(node);
  const std::int64_t stride = out.stride;
  std::fill_n(out.data, stride * b_.count, T{0});
  for (std::size_t k = 0; k < rows.size(); ++k)
    place[rows[k]] = static_cast<std::int32_t>(k);

  const std::int32_t limit = symbolic.first_column[fronts.last_front + 1];
  for (const TaskId child :
       view_.tree.tasks.children(task_id(static_cast<std::size_t>(node)))) {
    const auto c = index(child);
    if (has_entries_[c] == 0) continue;
    const auto of_child = symbolic.rows_of(view_.tree.nodes[c].last_front);
    const T* value = this->out(static_cast<std::int32_t>(c)).data;
    for (std::int32_t v = 0; v < b_.count; ++v)
      for (const std::int32_t row : of_child)
        (row < limit ? b_.data[v * b_.stride + row]
                     : out.data[v * stride + place[row]]) += *value++;
  }
  const AncestorRows<T> ancestors{limit, place, out};
  const Panels panels(read_limit_, view_, node);
  for (std::int32_t s = fronts.first_front; s <= fronts.last_front; ++s)
    fronts_->forward(s, panels.data(), b_, ancestors, reinterpret_cast<T*>(mine));
}

template <class T>
void TreeSolve<T>::backward_node(std::int32_t node) {
  const AssemblyTree::Node& fronts = view_.tree.nodes[node];
  std::byte* const mine = scratch_.data() + scratch_each_ * worker_rank();
  const Panels panels(read_limit_, view_, node);
  for (std::int32_t s = fronts.last_front; s >= fronts.first_front; --s)
    fronts_->backward(s, panels.data(), b_, x_, reinterpret_cast<T*>(mine));
}

#define ESPALIER_INSTANTIATE(T) template class TreeSolve<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
