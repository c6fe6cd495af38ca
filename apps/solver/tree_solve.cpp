#include "solver/tree_solve.h"

#include <starpu.h>

#include <algorithm>
#include <utility>

#include "solver/starpu_tasks.h"

namespace espalier::solver {
namespace {

// Where each node's vector for its ancestors' rows begins, for one right-hand side.
std::vector<std::int64_t> out_starts(const Symbolic& symbolic, const AssemblyTree& tree) {
  std::vector<std::int64_t> start(1, 0);
  for (const AssemblyTree::Node& node : tree.nodes)
    start.push_back(start.back() +
                    static_cast<std::int64_t>(symbolic.rows_of(node.last_front).size()));
  return start;
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
                        std::int32_t count, Bytes read_limit)
    : view_(view),
      count_(count),
      local_entries_(FrontSolve<T>(view, false).local_entries()),
      out_start_(out_starts(view.symbolic, view.tree)),
      out_(checked_mul(out_start_.back() * count, sizeof(T))),
      scratch_each_(worker_bytes<T>(view.symbolic, local_entries_, count)),
      read_limit_(read_limit),
      waiting_(view.tree.nodes.size()),
      has_entries_(view.tree.nodes.size(), 1) {
  scratch_ = PageBuffer(scratch_each_ * runtime.workers());
  for (std::size_t i = 0; i < view.tree.nodes.size(); ++i)
    arguments_.push_back({this, static_cast<std::int32_t>(i)});
}

template <class T>
Bytes TreeSolve<T>::footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                              std::int32_t workers, std::int32_t count) {
  std::int64_t local = 0;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    local =
        std::max(local, 2 * std::int64_t{symbolic.front_order(s)} + tree.block_width[s]);
  return checked_add(workers * worker_bytes<T>(symbolic, local, count),
                     PageBuffer::footprint(checked_mul(
                         out_starts(symbolic, tree).back() * count, sizeof(T))));
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
  const FrontSolve<T> fronts(view_, transposed);
  fronts_ = &fronts;
  b_ = b;
  x_ = x;
  mark(rows);
  run_phase(true);
  run_phase(false);
  fronts_ = nullptr;
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

template <class T>
void TreeSolve<T>::run_phase(bool forward) {
  const TaskTree& tasks = view_.tree.tasks;
  is_forward_ = forward;
  std::vector<std::int32_t> first;
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const auto children = static_cast<std::int32_t>(tasks.children(task_id(i)).size());
    waiting_[i] = children;
    if (forward ? children == 0 : !tasks.parent(task_id(i)))
      first.push_back(static_cast<std::int32_t>(i));
  }
  for (const std::int32_t node : first) submit(node);
  starpu_task_wait_for_all();
}

template <class T>
void TreeSolve<T>::submit(std::int32_t node) {
  static starpu_codelet codelet = make_codelet(run_node, "solve");
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = &arguments_[node];
  try {
    check_submission(starpu_task_submit(task));
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
      forward ? self->forward(node) : self->backward(node);
    } catch (...) {
      self->stop();
    }
  }
  if (!forward) {
    for (const TaskId child : tasks.children(task))
      self->submit(static_cast<std::int32_t>(index(child)));
    return;
  }
  if (const auto parent = tasks.parent(task);
      parent && --self->waiting_[index(*parent)] == 0)
    self->submit(static_cast<std::int32_t>(index(*parent)));
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
void TreeSolve<T>::forward(std::int32_t node) {
  if (has_entries_[node] == 0) return;
  const Symbolic& symbolic = view_.symbolic;
  const AssemblyTree::Node& fronts = view_.tree.nodes[node];
  std::byte* const mine = scratch_.data() + scratch_each_ * starpu_worker_get_id();
  auto* const place = reinterpret_cast<std::int32_t*>(
      mine + local_entries_ * count_ * static_cast<Bytes>(sizeof(T)));
  const auto rows = symbolic.rows_of(fronts.last_front);
  const auto stride = static_cast<std::int64_t>(rows.size());
  const Vectors<T> out{out_.as<T>() + out_start_[node] * count_, stride, b_.count};
  std::fill_n(out.data, stride * b_.count, T{0});
  for (std::size_t k = 0; k < rows.size(); ++k)
    place[rows[k]] = static_cast<std::int32_t>(k);

  const std::int32_t limit = symbolic.first_column[fronts.last_front + 1];
  for (const TaskId child :
       view_.tree.tasks.children(task_id(static_cast<std::size_t>(node)))) {
    const auto c = index(child);
    if (has_entries_[c] == 0) continue;
    const auto of_child = symbolic.rows_of(view_.tree.nodes[c].last_front);
    const T* value = out_.as<T>() + out_start_[c] * count_;
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
void TreeSolve<T>::backward(std::int32_t node) {
  const AssemblyTree::Node& fronts = view_.tree.nodes[node];
  std::byte* const mine = scratch_.data() + scratch_each_ * starpu_worker_get_id();
  const Panels panels(read_limit_, view_, node);
  for (std::int32_t s = fronts.last_front; s >= fronts.first_front; --s)
    fronts_->backward(s, panels.data(), b_, x_, reinterpret_cast<T*>(mine));
}

template class TreeSolve<float>;
template class TreeSolve<double>;

}  // namespace espalier::solver
