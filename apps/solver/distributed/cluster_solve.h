#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/distributed/columns.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/own_panels.h"
#include "solver/memory/page_buffer.h"
#include "solver/runtime/tree_solve.h"

namespace espalier::solver {

/// Triangular solves with a factor that is spread over processes. Vectors are whole at
/// every process.
///
/// Local subtrees: every process by itself, on StarPU's workers. Shared nodes: one after
/// the other, in the same order everywhere, so that blocking messages always meet. The
/// vector of such a front, what its rows have of the right-hand sides, begins at the
/// owner of its first block with the parts that its children left, and goes from owner to
/// owner along the panel; the rows below the panel stay at the last owner until the
/// parent's turn. Backward the same way from the parent's first owner to the child's last
/// one and back along the panel. The slots of the blocks before go along with the vector,
/// delayed columns with the rows below the panel. Meanwhile the workers sleep.
///
/// @par Cost  a message for each change of owner along a panel and each child elsewhere,
///            of at most the front's rows for each vector; a sum over the processes of
///            the vectors at the end
template <class T>
class ClusterSolve {
 public:
  /// The panels of shared nodes are OwnPanels.
  /// @param count       vectors that are solved for at once, at most
  /// @param read_limit  as of TreeSolve
  /// @throws as column_ranges()
  ClusterSolve(const FactorView<T>& view, const FrontDistribution& distribution,
               Communicator& communicator, const Runtime& runtime, std::int32_t count,
               Bytes read_limit);

  /// Collective. x := A^-1 b, or A^-T b, in elimination order, the same bits everywhere;
  /// b, which is too at the start, is overwritten. At most `count` vectors. Where the
  /// factor is symmetric x may be b. The runtime must be awake.
  /// @throws Error as TreeSolve::solve(); the other processes then wait in vain
  void solve(bool transposed, const Vectors<T>& b, const Vectors<T>& x);

  /// Bytes that the constructor takes at a process where no column was delayed.
  [[nodiscard]] static Bytes footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                       const FrontDistribution& distribution,
                                       std::int32_t process, std::int32_t workers,
                                       std::int32_t count);

 private:
  void solve_shared();
  [[nodiscard]] std::optional<OwnPanels<T>> own_panels(
      std::int32_t node, std::span<const BlockRun> runs) const;
  void forward(std::int32_t node);
  void backward(std::int32_t node);
  void open_front(std::int32_t node);
  void keep_slots(std::int32_t front);
  void begin_vector(std::int32_t node);
  void take_out(std::int32_t child, std::int32_t front, std::int32_t to,
                std::int32_t place);
  void add_out(std::int32_t child, std::int32_t front, const T* out, const T* delayed,
               std::int32_t place);
  void pass_down(std::int32_t node, std::int32_t child, std::int32_t place);
  void send_from(std::int32_t row, std::int32_t slots, std::int32_t to, MessageTag tag);
  void receive_from(std::int32_t row, std::int32_t slots, std::int32_t from,
                    MessageTag tag);
  void assemble_solution();

  [[nodiscard]] std::int32_t front(std::int32_t node) const {
    return view_.tree.nodes[node].last_front;
  }
  [[nodiscard]] std::int32_t holder(std::int32_t node) const;
  [[nodiscard]] const FrontDelays<T>* delays(std::int32_t front) const {
    return view_.factor.front[front].delays.get();
  }
  [[nodiscard]] std::vector<BlockRun> runs_of(std::int32_t node) const;
  // Where place `position` of a front's panel stands in whole vectors: forwards and in z,
  // or in x.
  [[nodiscard]] std::int32_t place_of(std::int32_t front, std::int32_t position,
                                      bool of_x) const;
  void to_vector(std::int32_t front, const Vectors<T>& whole, std::int32_t first,
                 std::int32_t last);
  void from_vector(std::int32_t front, std::int32_t first, std::int32_t last, bool of_x,
                   const Vectors<T>& whole);
  // Columns that a child delayed, and where they stand.
  [[nodiscard]] std::int32_t delayed_by(std::int32_t front, std::int32_t number) const;
  void gather_delayed(std::int32_t child, T* to) const;
  void scatter_delayed(std::int32_t child, const T* from);
  [[nodiscard]] typename FrontSolve<T>::SlotVectors slot_vectors() const {
    return {slots_.as<T>(), slots_.as<T>() + std::int64_t{slot_count_} * b_.count};
  }
  // The vector of the front at hand: `order` entries for each right-hand side.
  [[nodiscard]] Vectors<T> vector() const { return {vector_.as<T>(), order_, b_.count}; }
  [[nodiscard]] std::span<T> message(std::int64_t rows) const {
    return {message_.as<T>(), static_cast<std::size_t>(rows * b_.count)};
  }

  FactorView<T> view_;
  const FrontDistribution& distribution_;
  Communicator& communicator_;
  const Runtime& runtime_;
  std::vector<ColumnRange> ranges_;
  std::int32_t count_;
  TreeSolve<T> local_;
  // Rows below the panels of shared nodes, a stack; where those of each node begin, for
  // one vector, -1: elsewhere.
  PageBuffer outs_;
  std::vector<std::int64_t> out_start_;
  PageBuffer vector_, message_, block_, slots_;
  std::vector<std::int32_t> places_;
  std::vector<double> piece_;

  const FrontSolve<T>* fronts_ = nullptr;  // of the solve that runs
  bool transposed_ = false;
  std::int32_t order_ = 0, columns_ = 0, slot_count_ = 0;  // of the front at hand
  Vectors<T> b_{}, x_{};
};

}  // namespace espalier::solver
