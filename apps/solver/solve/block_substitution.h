#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "solver/solve/sequential_sweep.h"
#include "solver/solve/triangular_solve.h"
#include "solver/symbolic/block_form.h"

namespace espalier::solver {

/// Who takes part in a BlockSubstitution beside the calling thread.
template <class T>
struct BlockTeam {
  /// x := A^-1 b, or A^-T b, with trees of whole nodes, by the runtime; with those that
  /// are shared by all processes, where each has b and gets x. Empty: there is no
  /// runtime.
  std::function<void(IndexRange nodes, bool shared, bool transposed, const Vectors<T>& b,
                     const Vectors<T>& x, const std::function<void()>& ask)>
      solve_nodes{};
  /// Of each node the process that has it, or BlockForm::kShared; empty: all are here.
  std::vector<std::int32_t> owner{};
  std::int32_t process = 0;
  /// Collective. Everybody gets what the owner has.
  std::function<void(std::span<double> numbers, std::int32_t owner)> broadcast{};
};

/// Solves with a block triangular matrix whose diagonal blocks are factored: block after
/// block. Those of several nodes are solved with by the runtime, all others by the
/// calling thread. Between blocks vectors are in double precision, of complex numbers
/// real and imaginary parts in turn.
///
/// Unmatched variables are zero.
///
/// Every process has the whole vectors and the coupling. Blocks of one process that
/// follow each other are its turn: it solves with them, and tells the others what they
/// come to. What couples a row with other blocks is subtracted by increasing columns, so
/// the bits are those of one process, in whatever order blocks come.
///
/// @par Test  BlockForm.*, solver_cluster_blocks_*
template <class T>
class BlockSubstitution {
 public:
  /// @param nrhs  most vectors of a solve; what the rest refers to outlives this
  /// @throws Error when a block that is shared is not of whole nodes
  BlockSubstitution(const FactorView<T>& view, const BlockForm& form, std::int32_t nrhs,
                    BlockTeam<T>&& team);

  /// block := A^-1 block, or A^-T block, without conjugation, in elimination order.
  /// Collective.
  /// @param ask  called between fronts, see PacedAsk; what it throws is thrown. Of one
  ///             process alone
  /// @throws Error when a panel in the file cannot be read
  /// @par Cost  4 flops for each entry of the factor and vector, 2 for each of coupling;
  ///            a message for each turn
  void solve(bool transposed, std::span<double> block, std::int32_t nrhs,
             const std::function<void()>& ask = {});

  /// Bytes that the constructor takes where no column was delayed.
  /// @param together  on several processes
  [[nodiscard]] static Bytes footprint(const Symbolic& symbolic, const AssemblyTree& tree,
                                       std::int32_t nrhs, bool together);

 private:
  using Number = Wide<T>;
  /// Blocks [begin, end).
  struct Turn {
    std::size_t begin, end;
    std::int32_t owner;
  };
  /// Vectors at hand, and how.
  struct Solve {
    bool transposed;
    Number* vectors;
    Vectors<T> b, x;
    PacedAsk& paced;
    const std::function<void()>& ask;
    SequentialSweep<T>& sweep;
  };
  [[nodiscard]] IndexRange columns_of(const BlockForm::Block& block) const;
  [[nodiscard]] bool is_shared(std::int32_t node) const {
    return !team_.owner.empty() && team_.owner[node] == BlockForm::kShared;
  }
  [[nodiscard]] IndexRange nodes_of(const BlockForm::Block& block) const;
  void take_turns();
  [[nodiscard]] bool is_mine(const Turn& turn) const {
    return turn.owner == BlockForm::kShared || turn.owner == team_.process;
  }
  void solve_block(const BlockForm::Block& block, const Solve& at);
  [[nodiscard]] std::optional<Number> pivot_of(const BlockForm::Block& block,
                                               SequentialSweep<T>& sweep) const;
  void pull(IndexRange range, const Solve& at) const;
  void load(IndexRange range, const Solve& at);
  void store(IndexRange range, const Solve& at) const;
  void share(const Turn& turn, Number* vectors, std::int32_t nrhs);

  FactorView<T> view_;
  const BlockForm& form_;
  BlockTeam<T> team_;
  std::int64_t size_;
  std::vector<BlockForm::Block> reordered_;   // on several processes
  std::span<const BlockForm::Block> blocks_;  // those, or the form's
  std::vector<Turn> turns_;
  std::vector<T> side_, solution_;  // side_ empty where T is Number
  std::vector<int> exponent_;       // of the block's part of each vector
  std::vector<T> work_;
  std::vector<Number> piece_;  // of what is told
  std::vector<Number*> place_;
};

}  // namespace espalier::solver
