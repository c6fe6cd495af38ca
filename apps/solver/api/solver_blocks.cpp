// A matrix in block form whose blocks are singular, factored whole.

#include <algorithm>
#include <utility>

#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/move_columns.h"
#include "solver/matrix/permute.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace {

// Operations above which a singular matrix stays in block form: the fill of a whole
// triangular matrix may be that of a dense one.
constexpr Flops kMostJoined = 1e10;

// Both triangles and the coupling, in real or imaginary parts; symmetric blocks have one
// triangle.
GeneralMatrix joined(const SquareMatrix& blocks, const Coupling& coupling,
                     bool imaginary) {
  const SymmetricMatrix& lower = blocks.lower;
  const auto& below = imaginary ? blocks.lower_imaginary : lower.value;
  const auto& opposite = imaginary ? blocks.upper_imaginary : blocks.upper;
  const auto& above = blocks.symmetric() ? below : opposite;
  const auto& beside = imaginary ? coupling.imaginary : coupling.value;
  std::vector<std::vector<std::pair<std::int32_t, double>>> column(
      static_cast<std::size_t>(lower.size));
  for (std::int32_t j = 0; j < lower.size; ++j) {
    for (auto k = lower.column_start[j]; k < lower.column_start[j + 1]; ++k) {
      column[j].emplace_back(lower.row[k], below[k]);
      if (lower.row[k] != j) column[lower.row[k]].emplace_back(j, above[k]);
    }
    for (auto k = coupling.column_start[j]; k < coupling.column_start[j + 1]; ++k)
      column[j].emplace_back(coupling.row[k], beside[k]);
  }
  GeneralMatrix whole{.size = lower.size, .column_start = {0}, .row = {}, .value = {}};
  for (const auto& entries : column) {
    for (const auto& [row, value] : entries) {
      whole.row.push_back(row);
      whole.value.push_back(value);
    }
    whole.column_start.push_back(std::ssize(whole.row));
  }
  return whole;
}

// Each variable's pair in the order of the analysis: of singletons the one with which its
// row was exchanged, of the others the partner.
std::vector<std::int32_t> pairs_of(const PreparedMatrix& prepared,
                                   const std::vector<std::int32_t>& order) {
  const std::vector<std::int32_t> place = inverse_permutation(order);
  std::vector<std::int32_t> pair;
  for (const std::int32_t i : order) {
    const std::int32_t row = prepared.row_of.empty() ? i : prepared.row_of[i];
    const bool alone = row != i || prepared.partner.empty();
    pair.push_back(place[alone ? row : prepared.partner[i]]);
  }
  return pair;
}

// The symmetric matrix again, in the order of the analysis.
SquareMatrix with_rows_back(GeneralMatrix&& exchanged, const PreparedMatrix& prepared,
                            const std::vector<std::int32_t>& order) {
  const std::vector<std::int32_t> place = inverse_permutation(order);
  if (!prepared.row_of.empty())
    for (std::int32_t& row : exchanged.row) row = place[prepared.row_of[order[row]]];
  return {symmetrised(exchanged).lower, {}};
}

// The matrix in the order of the analysis, not in block form.
SquareMatrix whole_of(const Analysis& analysis, const PreparedMatrix& prepared) {
  const auto whole = [&](bool imaginary) {
    GeneralMatrix parts = joined(analysis.permuted, analysis.form.coupling, imaginary);
    return analysis.permuted.symmetric()
               ? with_rows_back(std::move(parts), prepared, analysis.symbolic.permutation)
               : symmetrised(std::move(parts));
  };
  SquareMatrix result = whole(false);
  result.complex = analysis.permuted.complex;
  if (!result.complex) return result;
  SquareMatrix imaginary = whole(true);
  result.lower_imaginary = std::move(imaginary.lower.value);
  result.upper_imaginary = std::move(imaginary.upper);
  return result;
}

// Zero pivots of blocks that their coupling is looked at for, at most: each costs solves,
// and their vectors' products are as many as there are pairs of them.
constexpr std::int64_t kMostCoupled = 64;

}  // namespace

bool Solver::Impl::singular_in_blocks() const {
  const bool regular = zeros_of_values() == 0 && !null_vector_ && pivots_.perturbed == 0;
  return !analysis_.form.empty() && !regular;
}

// Of a singular block back substitution takes any solution, and only some of them leave
// the other blocks one; nor is it known which of the unmatched variables it could have
// pivots with. The new analysis is in no bound that was given: without one only.
bool Solver::Impl::join_blocks() {
  if (bound_) return false;
  if (processes_) {
    if (!join_blocks_together()) return false;
  } else {
    if (!analyse_joined()) return false;
    measure_entries();
    whole_ = runtime_ == nullptr && is_small(analysis_.symbolic, tree_.kind);
    build(tree_.kind);
    prepare_runtime();
  }
  return plan(std::nullopt).has_value();
}

// Where the whole matrix is. @return false: all is as it was
bool Solver::Impl::analyse_joined() {
  const std::vector<std::int32_t>& before = analysis_.symbolic.permutation;
  const bool symmetric = analysis_.permuted.symmetric();
  Analysis next =
      analyse(whole_of(analysis_, prepared_), options_.analysis,
              symmetric ? pairs_of(prepared_, before) : std::vector<std::int32_t>{});
  // Unmatched variables have no pivots before the end, where they are dense.
  const auto last = static_cast<Flops>(analysis_.form.coupling.unmatched.size());
  if (next.symbolic.factor_flops + last * last * last > kMostJoined) return false;
  if (symmetric) prepared_.row_of = {};
  next.symbolic.permutation = composed(before, next.symbolic.permutation);
  drop_factor();
  analysis_ = std::move(next);
  return true;
}

// At process 0, to which the matrix goes back.
bool Solver::Impl::join_blocks_together() {
  Processes& all = *processes_;
  Communicator& communicator = all.communicator;
  planned_ = false;
  all.rows.reset();
  move_columns(communicator, all.columns, at_first_process(analysis_.symbolic.size),
               analysis_.permuted);
  all.columns.clear();
  bool joined = false;
  together(communicator, [&] {
    if (communicator.rank() == 0) joined = analyse_joined();
  });
  broadcast_value(communicator, joined);
  if (!joined) {
    move_matrix();
    planned_ = true;
    return false;
  }
  drop_factor();
  broadcast(communicator, prepared_.row_of);
  share_order(tree_.kind);
  measure_entries_together();
  all.beside_matrix.reset();
  list_mappings();
  return true;
}

// What they have of solves; before a factorisation, for those that any bound leaves room
// for.
Bytes Solver::Impl::coupling_bytes() const {
  constexpr std::int64_t kRoom = 1, kRoomOfSingular = 4;
  if (analysis_.form.empty()) return 0;
  const bool singular = !analysis_.form.coupling.unmatched.empty();
  const std::int64_t zeros =
      (singular ? kRoomOfSingular : kRoom) * analysis_.permuted.parts();
  return CoupledPivots::bytes(vector_size(),
                              zeros_of_blocks_ > 0 ? zeros_of_blocks_ : zeros);
}

// Where the blocks stay apart: what they are as a whole is found by solves, inside the
// bound. Another factorisation, whose solves are as good as those of a regular matrix;
// sizes are the same, so the plan holds. With perturbed pivots nobody knows which are
// zero.
void Solver::Impl::couple_blocks(FactorReport& run,
                                 const std::function<void(double)>& progress) {
  const std::int64_t parts = analysis_.permuted.parts();
  const std::int64_t zeros = zeros_of_values() * parts;
  if (zeros == 0 || zeros > kMostCoupled || pivots_.perturbed > 0) return;
  zeros_of_blocks_ = zeros;
  const bool room = !bound_ || solve_bytes(at_hand(), 1) <= solve_room();
  if (agree(room ? 1 : 0) == 0) {
    zeros_of_blocks_ = 0;
    return;
  }
  const bool doubtful = doubtful_, null_vector = null_vector_;
  // Pivots that were taken as they are, one by one, for want of a null vector of the
  // whole would make solves grow by as much again with each block.
  auto again = factorise_once(
      {.below = std::max(zero_, pivot_options().zero), .replacement = largest_entry_},
      progress);
  if (!again) throw Error("a factor that was L D L^T or L U is not any more");
  again->seconds += run.seconds;
  run = std::move(*again);
  doubtful_ = doubtful;
  null_vector_ = null_vector;
  zeros_of_blocks_ = zeros_of_values() * parts;
  find_coupled_pivots(asking_by(progress));
  if (!coupled_) return;
  pivots_.null_space -= coupled_->gained() / parts;
  pivots_.negative += coupled_->negative() / parts;
  run.pivots = pivots_;
}

// Of the factor that is here, where its zero pivots were replaced for that.
void Solver::Impl::find_coupled_pivots(const std::function<void()>& ask) {
  if (zeros_of_blocks_ == 0) return;
  const MatrixPart a = matrix();
  SingularBlocks blocks{
      .a = a,
      .zeros = zeros_of_blocks_,
      .solve = factored(false, ask),
      .solve_transposed = factored(true, ask),
      .systems = independent_systems(analysis_.symbolic, analysis_.form),
      .rounds = numeric_->epsilon() > 1e-10 ? 3 : 1};
  if (tree_.kind == FactorKind::kLdlt && complex() != ComplexSymmetry::kSymmetric) {
    const std::vector<std::int32_t>& order = analysis_.symbolic.permutation;
    const std::vector<std::int32_t> place = inverse_permutation(order);
    blocks.exchanged.emplace();
    if (!prepared_.row_of.empty())
      for (const std::int32_t each : order)
        blocks.exchanged->push_back(place[prepared_.row_of[each]]);
  }
  with_open_solve(1, [&] { coupled_.emplace(blocks); });
}

}  // namespace espalier::solver
