#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "solver/solve/grain_sums.h"
#include "solver/solve/paced_ask.h"
#include "solver/solve/triangular_solve.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// Both ways over the fronts of a factor by one thread: to the same bits as TreeSolve,
/// which sums up by grains, too. Fronts are whole trees: all of them, or those of an
/// independent system.
template <class T>
class SequentialSweep {
 public:
  /// Entries of work space for so many vectors.
  [[nodiscard]] static std::int64_t entries(const FactorView<T>& view,
                                            std::int32_t count);
  /// The same where no column was delayed.
  [[nodiscard]] static std::int64_t planned_entries(const Symbolic& symbolic,
                                                    const AssemblyTree& tree,
                                                    std::int32_t count);

  /// @param b, x  as of solve_sequentially()
  /// @param work  entries() of work space
  /// @param ask   all outlive this
  SequentialSweep(const FactorView<T>& view, bool transposed, const Vectors<T>& b,
                  const Vectors<T>& x, std::span<T> work, PacedAsk& ask);

  /// @throws Error when a panel in the file cannot be read
  void forward(IndexRange fronts);
  void backward(IndexRange fronts);
  /// Of a front's node.
  const T* panels_of(std::int32_t front);
  /// Of panels that were read from the file, the memory.
  void release() {
    storage_.reset();
    node_ = -1;
  }

 private:
  void forward(IndexRange fronts, const AncestorRows<T>& ancestors);

  const FactorView<T>& view_;
  const FrontSolve<T> solve_;
  const Vectors<T> b_, x_;
  GrainSums<T> sums_;  // at the start of the work space
  T* local_;           // after it
  PacedAsk& ask_;
  std::optional<NodeStorage<T>> storage_;  // of the node of the last front
  std::int32_t node_ = -1;
};

}  // namespace espalier::solver
