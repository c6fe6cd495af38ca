#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include "solver/memory/page_buffer.h"
#include "solver/runtime/runtime.h"
#include "solver/solve/triangular_solve.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// Triangular solves on StarPU's workers, through the tree: a node of the assembly tree
/// is one task, forward from the leaves, backward from the roots. What a subtree does to
/// the rows of its ancestors goes up in a vector of its own, so no two tasks write to the
/// same entries. Products with large panels are cut into tiles, which workers without a
/// node help with. Panels that are in the file are read node by node.
///
/// Some subtrees alone will do: then others see to the nodes above, between forward() and
/// backward().
template <class T>
class TreeSolve {
 public:
  using Ask = std::function<void()>;

  /// @param count       vectors that are solved for at once, at most
  /// @param read_limit  bytes of panels read from the file at once; one node's always are
  /// @param forest      of each node whether it takes part; none without its children;
  ///                    empty: all nodes
  TreeSolve(const FactorView<T>& view, const Runtime& runtime, std::int32_t count,
            Bytes read_limit, std::vector<std::int8_t> forest = {});

  /// Of nodes, where the fronts of some alone are solved with: whole trees, by the first
  /// and the last one.
  static constexpr IndexRange kAll{0, std::numeric_limits<std::int32_t>::max()};

  /// x := A^-1 b, or A^-T b, in elimination order; b is overwritten. At most `count`
  /// vectors. The runtime must be awake.
  /// @param rows  the rows that may have entries in b: subtrees without any are skipped
  ///              on the way up; empty: all
  /// @param ask  called by this thread about 20 times a second while it waits for tasks;
  ///             what it throws ends the solve and is thrown when no task runs any more;
  ///             empty: not called
  /// @throws Error when StarPU refuses a task or the file cannot be read
  void solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
             std::span<const std::int32_t> rows = {}, const Ask& ask = {},
             IndexRange nodes = kAll);

  /// The halves of solve(): b becomes what backward() reads of it; x has, where other
  /// nodes are above the forest, their part before backward().
  void forward(bool transposed, const Vectors<T>& b,
               std::span<const std::int32_t> rows = {}, const Ask& ask = {},
               IndexRange nodes = kAll);
  void backward(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                const Ask& ask = {}, IndexRange nodes = kAll);
  /// What forward() adds to the rows of the last front of a node of the forest that are
  /// above it, vector after vector; of a root, for the nodes above.
  [[nodiscard]] const T* out(std::int32_t node) const;

  /// Bytes that the constructor takes where no column was delayed.
  [[nodiscard]] static Bytes footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                       std::int32_t workers, std::int32_t count,
                                       std::span<const std::int8_t> forest = {});

 private:
  class Sweep;
  class Upward;
  class Downward;
  class Panels;
  [[nodiscard]] bool takes_part(std::size_t node) const {
    return forest_.empty() || forest_[node] != 0;
  }
  [[nodiscard]] Vectors<T> out_vectors(std::int32_t node, std::int32_t nrhs) const;

  FactorView<T> view_;
  const Runtime& runtime_;
  std::int32_t count_;
  std::vector<std::int8_t> forest_;
  std::int64_t local_entries_, sum_entries_;  // for each vector
  std::vector<std::int64_t> out_start_;       // of each node, in `out_`
  PageBuffer out_, scratch_;                  // each worker has a part of scratch_
  Bytes scratch_each_;
  Bytes read_limit_;
};

}  // namespace espalier::solver
