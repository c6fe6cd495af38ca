#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "solver/assembly_tree.h"
#include "solver/page_buffer.h"
#include "solver/symbolic.h"

namespace espalier::solver {

/// A pivot that is not positive: the matrix is not positive definite.
struct BadPivot {
  std::int32_t column = 0;  ///< in elimination order, 0-based
};

/// The pivot columns of L, by fronts. Filled by the factorisation, read by the solve.
struct Factor {
  Factor() = default;
  Factor(const Symbolic& symbolic, const AssemblyTree& tree)
      : storage(tree.nodes.size()), panel(symbolic.parent.size()) {}

  /// The factorisation is over: its meter may go away.
  void forget_meter() noexcept {
    for (PageBuffer& buffer : storage) buffer.forget_meter();
  }

  std::vector<PageBuffer> storage;  ///< one for each node of the assembly tree
  std::vector<double*> panel;       ///< of each front: panel(symbolic, front) of the tree
};

/// The earliest bad pivot met, by any thread.
class PivotCheck {
 public:
  void report(std::int32_t column) noexcept;
  [[nodiscard]] bool failed() const noexcept {
    return column_.load(std::memory_order_relaxed) != kNone;
  }
  [[nodiscard]] std::optional<BadPivot> result() const;

 private:
  static constexpr std::int32_t kNone = std::numeric_limits<std::int32_t>::max();
  std::atomic<std::int32_t> column_{kNone};
};

}  // namespace espalier::solver
