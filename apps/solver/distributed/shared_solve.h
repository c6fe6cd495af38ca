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
#include "solver/tree/trapezoid.h"

namespace espalier::solver {

/// The processes of the grid's column that has a block column of a node's panel, row by
/// row; of a local node its process.
[[nodiscard]] std::vector<std::int32_t> column_of(const FrontDistribution& distribution,
                                                  std::int32_t node, std::int32_t block);

/// Where the rows below a node's panel are once it is done, on the way up; where those of
/// x are needed first on the way down. Each has those of its row of the grid.
[[nodiscard]] std::vector<std::int32_t> holders_of(const AssemblyTree& tree,
                                                   const Symbolic& symbolic,
                                                   const FrontDistribution& distribution,
                                                   std::int32_t node);

/// Work space for shared nodes at a process.
struct SharedSpace {
  std::int32_t count = 0;  ///< vectors that are solved for at once, at most
  /// Rows below the panels of shared nodes, a stack; where those of each node begin, for
  /// one vector, -1: elsewhere.
  PageBuffer outs{};
  std::vector<std::int64_t> out_start{};
  PageBuffer vector{}, message{}, block{}, slots{};
  std::vector<std::int32_t> places{};
};

/// The nodes that processes share, in one triangular solve: made for it. See
/// ClusterSolve.
template <class T>
class SharedSolve {
 public:
  /// What stays from solve to solve; all of it outlives this.
  struct Site {
    const FactorView<T>& view;
    const FrontDistribution& distribution;
    Communicator& communicator;
    const TreeSolve<T>& local;  ///< went forward before
    SharedSpace& space;
  };
  /// @param b, x  whole vectors: ClusterSolve::solve()
  SharedSolve(const Site& site, bool transposed, const Vectors<T>& b, const Vectors<T>& x)
      : view_(site.view),
        distribution_(site.distribution),
        communicator_(site.communicator),
        local_(site.local),
        space_(site.space),
        fronts_(site.view, transposed),
        transposed_(transposed),
        b_(b),
        x_(x) {}

  /// Collective: up to the roots and down again, of whole trees.
  void run(IndexRange nodes);

 private:
  /// A front at hand: its panel with delayed columns, and its slots.
  struct Open {
    std::int32_t node, front;
    Trapezoid panel;
    std::int32_t slots;
    std::int32_t planned;  ///< block columns of the panel without delayed columns
    std::int32_t grid_rows;
    std::int32_t mine;  ///< row of the grid that this process is in
  };
  /// A child of it: its number among them, and where the columns that it delayed begin.
  struct Child {
    std::int32_t node = 0, front = 0, number = 0, place = 0;
  };
  /// What goes between two processes for a child: some of its rows, and delayed columns.
  struct Passage {
    std::int32_t from, to;
    std::vector<std::int32_t> rows;  ///< numbers among the child's
    bool delayed;                    ///< delayed columns go along
  };
  class GridColumn;

  [[nodiscard]] Open open(std::int32_t node) const;
  [[nodiscard]] std::vector<BlockRun> runs_of(const Open& at) const;
  [[nodiscard]] std::int32_t owner_in_run(const Open& at, const BlockRun& run) const;
  [[nodiscard]] std::optional<OwnPanels<T>> own_panels(
      const Open& at, std::span<const BlockRun> runs) const;
  void forward_run(const Open& at, const BlockRun& run, const T* panels) const;
  void backward_run(const Open& at, const BlockRun& run, const T* panels) const;
  [[nodiscard]] std::vector<IndexRange> rows_at(const Open& at, std::int32_t row,
                                                IndexRange of) const;
  [[nodiscard]] std::vector<IndexRange> own_rows(const Open& at, IndexRange of) const {
    return rows_at(at, at.mine, of);
  }
  [[nodiscard]] std::vector<std::int32_t> column_at(const Open& at,
                                                    std::int32_t block) const;
  [[nodiscard]] std::int32_t owner_at(const Open& at, std::int32_t block) const {
    return distribution_.owner_of(at.node, block, at.planned, at.panel.blocks());
  }
  // Slots that go along with the front's rows; of a grid from diagonal to diagonal.
  [[nodiscard]] std::int32_t slots_along(const Open& at, std::int32_t block) const {
    return at.grid_rows == 1 ? fronts_.slots_before(at.front, block) : 0;
  }
  void send_slots(const Open& at, std::int32_t block, std::int32_t from, std::int32_t to,
                  MessageTag tag) const;
  [[nodiscard]] std::vector<Passage> passages(const Open& at, const Child& child) const;
  void forward(std::int32_t node);
  void backward(std::int32_t node);
  // Then it has one block column.
  [[nodiscard]] bool is_narrow(const Open& at) const {
    return fronts_.is_narrow(at.front, b_.count);
  }
  void forward_narrow(const Open& at, const T* panel) const;
  void keep_slots(const Open& at) const;
  void pass_on_sums(const Open& at) const;
  void keep_out(const Open& at) const;
  void begin_vector(const Open& at) const;
  template <class Part>
  void for_each_child(const Open& at, const Part& part) const;
  [[nodiscard]] std::span<std::int32_t> places_of(const Open& at,
                                                  const Child& child) const;
  void take_out(const Open& at, const Child& child, const Passage& passage) const;
  void add_out(const Open& at, const Child& child, const Passage& passage,
               const T* part) const;
  void pass_down(const Open& at, const Child& child, const Passage& passage) const;
  void send_from(const Open& at, std::int32_t row, std::int32_t slots, std::int32_t to,
                 MessageTag tag) const;
  void receive_from(const Open& at, std::int32_t row, std::int32_t slots,
                    std::int32_t from, MessageTag tag) const;

  [[nodiscard]] std::vector<std::int32_t> holders(std::int32_t node) const {
    return holders_of(view_.tree, view_.symbolic, distribution_, node);
  }
  // The row of a node's grid that has a row of its front.
  [[nodiscard]] std::int32_t grid_row(std::int32_t node, std::int32_t front,
                                      std::int32_t row) const {
    const auto strips = view_.factor.strips_of(front);
    return strips.empty() ? 0
                          : strip_of_row(strips, row) % distribution_.grid_of(node).rows;
  }
  [[nodiscard]] const FrontDelays<T>* delays(std::int32_t front) const {
    return view_.factor.delays_of(front);
  }
  // Where place `position` of a front's panel stands in whole vectors: forwards and in z,
  // or in x.
  [[nodiscard]] std::int32_t place_of(std::int32_t front, std::int32_t position,
                                      bool of_x) const;
  void to_vector(const Open& at, const Vectors<T>& whole, std::int32_t first,
                 std::int32_t last) const;
  void from_vector(const Open& at, std::int32_t first, std::int32_t last, bool of_x,
                   const Vectors<T>& whole) const;
  // Columns that a child delayed, and where they stand.
  [[nodiscard]] std::int32_t delayed_by(const Open& at, std::int32_t number) const;
  void gather_delayed(std::int32_t child, T* to) const;
  void scatter_delayed(std::int32_t child, const T* from) const;

  // The vector of the front at hand: an entry a row, for each right-hand side.
  [[nodiscard]] Vectors<T> vector(const Open& at) const {
    return {space_.vector.template as<T>(), at.panel.rows(), b_.count};
  }
  [[nodiscard]] typename FrontSolve<T>::SlotVectors slots(const Open& at) const {
    T* const all = space_.slots.template as<T>();
    return {all, all + std::int64_t{at.slots} * b_.count};
  }
  [[nodiscard]] std::span<T> message(std::int64_t rows) const {
    return {space_.message.template as<T>(), static_cast<std::size_t>(rows * b_.count)};
  }
  [[nodiscard]] T* out(std::int32_t node) const {
    return space_.outs.template as<T>() + space_.out_start[node] * space_.count;
  }

  const FactorView<T>& view_;
  const FrontDistribution& distribution_;
  Communicator& communicator_;
  const TreeSolve<T>& local_;
  SharedSpace& space_;
  const FrontSolve<T> fronts_;
  const bool transposed_;
  const Vectors<T> b_, x_;
};

}  // namespace espalier::solver
