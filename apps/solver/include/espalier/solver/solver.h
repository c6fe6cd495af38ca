#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/solver/export.h"
#include "espalier/solver/matrix.h"
#include "espalier/solver/options.h"
#include "espalier/solver/results.h"

namespace espalier::solver {

class Communicator;
class Lease;
class Runtime;

// Every promise of the interface stands here: over 300 lines.

// Behind the interface: what Solver shows of itself to the program and to tests.
struct Analysis;
struct AssemblyTree;
struct MemoryAccount;
struct PreparedMatrix;

/// @throws InvalidInput naming the option and the value; what depends on this machine is
///         for Runtime to say
ESPALIER_SOLVER_EXPORT void check(const SolverOptions& options);

/// What a construction may add to the resident set for a matrix of so many entries, as it
/// was given, beside that matrix and the runtime: rather too much. Graphs of several
/// levels while ordering, the scaled matrix, the structure of the factor.
[[nodiscard]] ESPALIER_SOLVER_EXPORT Bytes analysis_bytes(std::int64_t order,
                                                          std::int64_t entries);

/// An order of elimination that was weighed against another one: see
/// Solver::settle_order().
struct TriedOrdering {
  OrderingKind kind = OrderingKind::kAuto;
  Bytes least =
      0;  ///< about, of one that was not taken: that of Solver::least_for_plan()
  bool taken = false;
};

/// A sparse system, real or complex, from the matrix to solutions, inside a bound on the
/// resident set of the process. Phases in order: construction analyses; plan();
/// factorise(); solve() any number of times; plan() and factorise() again within another
/// bound or, after replace_values(), with other values on the same pattern.
///
/// Of a complex matrix vectors are arrays of real and imaginary parts in turn, and A^T
/// stands for A^H, the transposed of the real matrix that maps such arrays: ComplexSolver
/// puts that in terms of complex numbers.
///
/// On several processes all that is not const is collective, as are save(), load() and
/// determinant(); options are the same everywhere, those of one process: workers, bound,
/// directory; a budget is the process's own, and leases are had by all or by none.
/// Process 0 analyses the matrix. All processes then have the structure of the factor,
/// the permutation and the vectors; of the matrix, the fronts and the factor each has its
/// part. The task tree is mapped onto processes when the bound is known (plan()), since a
/// process has less of it the more of it is shared. Each process may give a progress
/// function or none; what one of them throws is thrown there and ends the call at all of
/// them, with Cancelled at the others. What a Solver tells of memory is this
/// process's; least() is the least bound with which no process has too little.
class ESPALIER_SOLVER_EXPORT Solver {
 public:
  /// Analyses the matrix, starts the runtime, unless the system is small
  /// (SolverOptions::runtime_flops), and measures what is resident. Several solvers may
  /// exist in a process: they share one runtime and so need the same workers and
  /// scheduler, and each has a bound on the whole process.
  ///
  /// With a runtime that is given, which must outlive the solver, nothing is started:
  /// workers and scheduler are the runtime's, whatever the options say.
  /// @param step  told what is being done; may be empty
  /// @throws InvalidInput for a matrix or options that cannot be (check_matrix.h,
  ///         check()), and as analyse() and require_kind() do; Busy, MemoryLimit, Error
  ///         as Runtime; BudgetExceeded, with the budget that would do
  Solver(InputMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  Solver(Runtime& runtime, InputMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  /// Of a complex matrix: with both triangles or, as its symmetry says, the lower one.
  Solver(ComplexMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  Solver(Runtime& runtime, ComplexMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  /// On the processes of a communicator, which outlives the solver; on one that is alone,
  /// as above.
  /// @param matrix  at process 0; none elsewhere, of the same kind of numbers
  /// @throws InvalidInput as above, at every process; for options that need one process
  ///         alone: another scheduler, low rank, a recorded run, a Schur complement
  Solver(Communicator& communicator, std::optional<InputMatrix>&& matrix,
         const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  Solver(Communicator& communicator, std::optional<ComplexMatrix>&& matrix,
         const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  /// Collective on several processes.
  ~Solver();
  Solver(const Solver&) = delete;
  Solver& operator=(const Solver&) = delete;

  /// Writes what solve() needs, after factorise(): loading takes the place of analysis
  /// and factorisation. An older file of that name stays when anything fails.
  ///
  /// On P processes each writes its part: process 0 `path`, process k `path`.k. All have
  /// the number of parts and of this save in them.
  /// @param progress  told about which part of the file is written, after each MiB; what
  ///                  it throws ends the call and is thrown here
  /// @throws InvalidInput before factorise(), FileError; InvalidInput at every process
  ///         that names the file, on several
  void save(const std::string& path,
            const std::function<void(double)>& progress = {}) const;
  /// A solver that save() wrote, ready to solve and to factorise again. Its factor is in
  /// memory. Kind, precision, preparation, ordering and pivot threshold are the file's;
  /// `options` gives the others.
  /// @param progress  told the part of the file that is read, as in save()
  /// @throws FileError saying what is wrong with the file, InvalidInput as Runtime
  [[nodiscard]] static std::unique_ptr<Solver> load(
      const std::string& path, const SolverOptions& options = {},
      const std::function<void(double)>& progress = {});
  [[nodiscard]] static std::unique_ptr<Solver> load(
      Runtime& runtime, const std::string& path, const SolverOptions& options = {},
      const std::function<void(double)>& progress = {});
  /// On as many processes as saved it.
  /// @throws InvalidInput at every process: with both numbers, where they differ; naming
  ///         the part that is missing, broken or of another save
  [[nodiscard]] static std::unique_ptr<Solver> load(
      Communicator& communicator, const std::string& path,
      const SolverOptions& options = {},
      const std::function<void(double)>& progress = {});

  [[nodiscard]] FactorKind kind() const;
  [[nodiscard]] Precision precision() const;
  /// The symmetry of a complex matrix; none: the matrix is real.
  [[nodiscard]] std::optional<ComplexSymmetry> complex() const;
  /// Whether a directory for what does not fit was given.
  [[nodiscard]] bool spills() const;
  /// Where there is neither a runtime nor a budget, the process is measured
  /// when this is first asked for, or by plan() with a bound: panels that are there by
  /// then are not in the baseline, but they are in the peak.
  [[nodiscard]] const MemoryAccount& memory() const;
  /// Where SolverOptions left the order of elimination to OrderingKind::kAuto, which
  /// knows times alone, and another order may do with less memory: tries that one too,
  /// once, and keeps the one of lesser need. The matrix is analysed a second time for it,
  /// and a factor that there was is given up. Not tried: with a budget, a Schur
  /// complement, where the system needs little, after the first plan on several
  /// processes, and where the analysis might need more than it may save.
  ///
  /// plan() does so by itself for a bound that does not suffice; who is going to ask for
  /// least() calls this before. Collective.
  /// @param bound  only where the order at hand does not fit in it; none: in any case
  void settle_order(std::optional<Bytes> bound = {});
  /// The order that kAuto took at first and the other one; empty: none was tried.
  [[nodiscard]] const std::vector<TriedOrdering>& orderings_tried() const;
  /// Least bound that suffices, in core, in the order at hand.
  [[nodiscard]] Bytes least() const;
  /// The same out of core, where a directory was given.
  [[nodiscard]] Bytes least_out_of_core() const;
  /// Least bound that plan() takes here, out of core where a directory was given; with a
  /// budget that of the least lease.
  [[nodiscard]] Bytes least_for_plan() const;
  [[nodiscard]] const Analysis& analysis() const;
  [[nodiscard]] const PreparedMatrix& prepared() const;
  [[nodiscard]] const AssemblyTree& tree() const;
  [[nodiscard]] Seconds analyse_seconds() const;
  /// SolverOptions::of_transposed; after load() that of the solver that was saved.
  [[nodiscard]] bool of_transposed() const;
  /// Whether the system is small enough to be factored and solved without the runtime.
  [[nodiscard]] bool without_runtime() const;

  /// Plans for a bound on the process. A factor that there was is given up.
  ///
  /// With a budget, a lease is taken of what the bound leaves beside the baseline, or of
  /// all that is left in the budget where that is less.
  ///
  /// With SolverOptions::low_rank, on the runtime and without a budget, the bound may be
  /// below least(), down to what the largest front takes in full: then may_not_fit().
  /// @param bound  no value: unbounded, with a budget: the most that could be of use
  /// @return Infeasible with the least bound, in core or with the directory that was
  /// given; with the least budget, where the lease cannot be had: there is no plan then
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound);
  /// Whether the bound of the plan suffices only if compression leaves little enough,
  /// which nobody knows beforehand.
  [[nodiscard]] bool may_not_fit() const;

  /// After plan(). NotPositiveDefinite::column is a column of the matrix as it was read,
  /// 0-based.
  /// @param progress  told the part that is done, now and then, and 1 at the end (of the
  ///                  part of this process, where there are several); what it throws ends
  ///                  the factorisation and is thrown here when no task runs any more
  /// @throws Error, FileError when the runtime, the system or the spill file fails;
  ///         InvalidInput before plan() and after values that did not fit; DoesNotFit
  ///         where may_not_fit() and it does not: the bound was kept, and the solver can
  ///         be given another plan
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const std::function<void(double)>& progress = {});

  /// Takes new values for the next factorise(): same pattern, same plan, same scaling.
  /// @throws InvalidInput for a matrix that cannot be, or that has an entry outside the
  ///         pattern: there are no values then until others do fit
  /// On several processes: it is read at process 0.
  void replace_values(const InputMatrix& matrix);
  /// @param matrix  has the symmetry of the first one, with one triangle or both
  void replace_values(ComplexMatrix&& matrix);

  /// In place of the options of these names, in all solves from now on. Over processes
  /// all of them say the same.
  void set_refinement(bool refine, bool no_residual, bool estimate_errors);

  /// b := A^-1 b, or A^-T b, for `nrhs` vectors one after the other, after
  /// factorise(); in the order of the matrix as it was read.
  /// @param rows      where b may have entries, increasing; empty: anywhere
  /// @param progress  told the part of the vectors that are solved for, before each pass
  ///                  over the factor and, some thousand times a second without the
  ///                  runtime and 20 times with it, on the way; what it throws ends the
  ///                  call and is thrown here when no task runs any more: the factor
  ///                  stays, and b is of no use
  /// @throws InvalidInput before factorise(), for b of another length than n times
  ///         `nrhs` or with an entry that is not finite, and for rows that cannot be
  [[nodiscard]] Solution solve(std::span<double> b, std::int32_t nrhs = 1,
                               Operation operation = Operation::kPlain,
                               std::span<const std::int64_t> rows = {},
                               const std::function<void(double)>& progress = {});
  /// b := P^-1 b, or P^-T b, for one part P of the factor, in one process, after
  /// factorise(). With S, R and C the diagonal scalings of rows and columns, which are
  /// powers of two,
  ///
  ///     L L^T    S A S = L L^T      A^-1 = S L^-T L^-1 S
  ///     L D L^T  S A S = L D L^T    A^-1 = S L^-T D^-1 L^-1 S
  ///     L U      R A C = L U        A^-1 = C U^-1 L^-1 R
  ///
  /// and with each part goes the scaling beside it: kL is L^-1 S, transposed S L^-T, and
  /// kU C U^-1. So one part after the other is A^-1: kL, kD, kL transposed; or kL, kU;
  /// of A^T kU and kL, both transposed. Nothing is refined.
  ///
  /// The permutations stand in the parts: entry i of what kL gives belongs to row i of A,
  /// as does what kD takes and gives and what kU takes; what kU gives, to columns. There
  /// is an order of the rows in which L is lower triangular, with ones on its diagonal
  /// but for L L^T, D is diagonal with blocks of order 1 and 2, and an order of the
  /// columns in which U is upper triangular. Variables that are kept (schur) are zeros.
  ///
  /// The calling thread does it alone. @par Cost  2 flops for each entry of the part
  /// @param progress  as of solve()
  /// @throws InvalidInput as solve(); for D but of L D L^T, for U but of L U, on several
  ///         processes, and for a matrix in block triangular form
  ///         (SolverOptions::factor_parts)
  void solve_part(FactorPart part, std::span<double> b, std::int32_t nrhs = 1,
                  Operation operation = Operation::kPlain,
                  const std::function<void(double)>& progress = {});

  /// Entries of A^-1 after factorise(), (rows[k], columns[k]) to values[k] (of a complex
  /// matrix two parts of each): by right-hand sides that are columns of the unit matrix,
  /// each of which passes through the fronts between its own and the root alone. Nothing
  /// is refined but in block triangular form, where each column is solved for. Entries of
  /// variables that are kept (schur) are 0. The calling thread does it alone.
  /// @par Cost  the diagonal of a grid of n points in the plane O(n^2), in space
  ///            O(n^(7/3)), a sixteenth of that in passes over the factor
  /// @param progress  as of solve(): the part of the columns
  /// @throws InvalidInput before factorise(), for places that are none, for a singular
  ///         matrix and on several processes
  void inverse_entries(std::span<const std::int32_t> rows,
                       std::span<const std::int32_t> columns, std::span<double> values,
                       const std::function<void(double)>& progress = {});

  /// op(A) times the vector of ones: a right-hand side whose solution is known.
  [[nodiscard]] std::vector<double> apply_to_ones(
      Operation operation = Operation::kPlain) const;

  /// Of the matrix, after factorise(): zero where it is singular() to working precision.
  /// Where pivots were perturbed it is that of a matrix nearby.
  /// @throws InvalidInput before factorise()
  [[nodiscard]] Determinant determinant() const;

  /// The Schur complement of the other variables' block on SolverOptions::schur, after
  /// factorise(): A_kk - A_ki A_ii^-1 A_ik, the whole of it, column by column. It stands
  /// in memory with the factor, inside the bound, which has room for `block` as well.
  /// @param block  as many entries as there are such variables, squared
  /// @throws InvalidInput before factorise(), for a block of another size, where no
  ///         variables were named and where A_ii is singular: there is none then
  void schur(std::span<double> block) const;

  /// An orthonormal basis of the null space, null_space() vectors one after the other (of
  /// a complex matrix twice as many, which span it as parts of complex numbers), of
  /// A or of its transpose, after factorise(): inverse iterations on the factor, whose
  /// zero pivots stand for it, and corrections until it is a null space by rows.
  /// @throws InvalidInput before factorise(), and where pivots were perturbed: nothing is
  ///         known of a null space then; DoesNotFit where the bound has no room for four
  ///         times the vectors, of which nobody knows before factorise() how many they
  ///         are; Error where vectors do not become null vectors: the estimate was wrong
  [[nodiscard]] std::vector<double> null_space_basis(
      Operation operation = Operation::kPlain);

  /// Gives the factor up and keeps the plan: room for what comes before the next one.
  void release_factor();

  /// Growth of the resident set during factorise(): its peak less the baseline. Not
  /// measured where neither StarPU nor a bound is there.
  [[nodiscard]] Bytes factor_growth() const;
  /// VmHWM of the process from its start, over all phases.
  [[nodiscard]] Bytes peak_resident() const;
  /// What went to the spill file and came back, so far.
  [[nodiscard]] SpillCounters spilled() const;
  /// Of the budget; null: none, or no plan yet.
  [[nodiscard]] const Lease* lease() const;
  /// Bytes that plan() sends to the spill file.
  [[nodiscard]] Bytes bytes_to_spill() const;
  /// Dimension of the null space as the last factorise() estimated it; kept by save().
  [[nodiscard]] std::int64_t null_space() const;
  /// What the pivots of the last factorise() were, of all processes; kept likewise, but
  /// for the least of them.
  [[nodiscard]] const PivotStatistics& pivots() const;
  /// Whether the matrix is singular to working precision: by its structure, by zero
  /// pivots, or by a null vector that was found where pivots were doubtful. Kept
  /// likewise.
  [[nodiscard]] bool singular() const;

  /// Nothing on one process.
  [[nodiscard]] ProcessFacts process_facts() const;

  struct Impl;

 private:
  explicit Solver(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace espalier::solver
