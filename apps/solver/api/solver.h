#pragma once

// Every promise of the one public class stands here: over 300 lines.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/parallel/make_plan.h"
#include "solver/api/numeric.h"
#include "solver/api/trust.h"
#include "solver/distributed/channel.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/matrix_part.h"
#include "solver/memory/budget.h"
#include "solver/memory/memory_account.h"
#include "solver/refine/condition.h"
#include "solver/refine/refine.h"
#include "solver/refine/singularity.h"
#include "solver/scaling/prepare.h"
#include "solver/solve/determinant.h"
#include "solver/symbolic/analyse.h"

struct espalier_plan;

namespace espalier::solver {

class Communicator;
class NodeOrder;
class ScaledPermutation;
class SectionReader;

struct SavedSystem;
struct SystemFacts;
struct TreeMapping;

struct SolverOptions {
  /// None: kind_of() the matrix, and L D L^T when a Cholesky pivot fails.
  std::optional<FactorKind> kind;
  Precision precision = Precision::kDouble;  ///< of the factor
  PrepareOptions prepare;
  AnalyseOptions analysis;
  std::int32_t workers = 1;
  std::string scheduler = "espalier";
  /// A factorisation of fewer operations is done in the calling thread, without the
  /// runtime; 0: always on the runtime. What may leave memory (out_of_core) or asks for
  /// another scheduler is on the runtime, too. The default is what one core does while a
  /// runtime starts and its workers wait for each other.
  Flops runtime_flops = 4e9;
  OrderKind order = OrderKind::kLiu;
  MappingKind mapping = MappingKind::kMemoryAware;
  double pivot_threshold = 0.01;  ///< LDL^T, LU: see PivotOptions
  /// Part of the bound kept for delayed pivots, none for Cholesky; without a bound they
  /// are never refused. 0: static pivoting. The default takes what small and medium
  /// fronts of well-ordered systems delay.
  Bytes delay_reserve = Bytes{1} << 20;
  /// Directory for what does not fit in the bound; empty: everything stays in memory.
  std::string out_of_core;
  /// Block low rank: what a tile of the factor L of a large front may lose, in the
  /// Frobenius norm, as a part of sqrt(||A||), which is the norm of L; the norm is that
  /// of row sums of the scaled matrix. Refinement makes up for it. 0: nothing is
  /// compressed. Cholesky alone, in core and in one process; such a factorisation is not
  /// saved. A matrix whose Cholesky fails goes on as L D L^T without compression.
  double low_rank = 0;
  bool refine = true;
  /// Solutions as the factor gives them, and nothing is said of their errors: for those
  /// who refine themselves. Goes with `refine` = false.
  bool no_residual = false;
  /// Condition and forward error: a few more solves. They are made anyhow where pivots
  /// were perturbed or nearly zero, or where solutions are huge.
  bool estimate_errors = false;
  /// Shared with others in this process; null: none. Construction holds a lease of
  /// analysis_bytes(), and of start_bytes() where it starts the runtime; plan() takes one
  /// for factorising and solving, which is kept until the next plan() or the end.
  std::shared_ptr<Budget> budget;
  /// How long to wait for a lease that others have to give back first.
  Budget::Duration lease_patience{0};
  /// Every task of the factorisation, in FactorReport::run: in core, in one process.
  bool record_run = false;
  /// Variables that are not eliminated, from 0, in the order in which schur() gives them;
  /// empty: all are. What is said of the matrix then (singular(), null_space(),
  /// determinant(), the kind) is said of the others' block, which alone is solved with:
  /// solve() does not read the right-hand sides' entries of these variables, and leaves
  /// zeros there. In one process; such a factorisation is not saved.
  std::vector<std::int32_t> schur = {};
};

/// @throws InvalidInput naming the option and the value; what depends on this machine is
///         for Runtime to say
void check(const SolverOptions& options);

/// The options with the workers and the scheduler of a runtime. @param runtime  null: as
/// they are
[[nodiscard]] SolverOptions on_runtime(SolverOptions options, const Runtime* runtime);

/// What a construction may add to the resident set for a matrix of so many entries, as it
/// was given, beside that matrix and the runtime: rather too much. Graphs of several
/// levels while ordering, the scaled matrix, the structure of the factor.
[[nodiscard]] Bytes analysis_bytes(std::int64_t order, std::int64_t entries);

struct Solution {
  Refinement refinement;
  /// The worst of the columns. Where they were asked for, or where the factorisation or
  /// the size of a solution gives reason to doubt it.
  std::optional<ErrorEstimate> errors;
  Doubts doubts;               ///< of all columns
  Seconds seconds = 0;         ///< forward and backward substitution
  Seconds refine_seconds = 0;  ///< residuals, error estimates, further substitutions
};

/// What one process knows of the work that it shares with others.
struct ProcessFacts {
  Bytes predicted_peak = 0;       ///< of the plan's order on this process's part: exact
  Bytes sequential_least = 0;     ///< least bound of the whole tree in one process
  std::int64_t shared_nodes = 0;  ///< that several processes work on
  Channel::Counters sent;         ///< while factorising
};

/// A sparse system, real or complex, from the matrix to solutions, inside a bound on the
/// resident set of the process. Phases in order: construction analyses; plan();
/// factorise(); solve() any number of times; plan() and factorise() again within another
/// bound or, after replace_values(), with other values on the same pattern.
///
/// Of a complex matrix vectors are arrays of real and imaginary parts in turn, and A^T
/// stands for A^H, the transposed of the real matrix that maps such arrays: ComplexSolver
/// puts that in terms of complex numbers. Complex matrices are for one process.
///
/// On several processes all that is not const is collective, as are save() and load();
/// options are the same everywhere, those of one process: workers, bound, directory.
/// Process 0 analyses the matrix. All processes then have the structure of the factor,
/// the permutation and the vectors; of the matrix, the fronts and the factor each has its
/// part. The task tree is mapped onto processes when the bound is known (plan()), since a
/// process has less of it the more of it is shared. What a Solver tells of memory is this
/// process's; least() is the least bound with which no process has too little.
class Solver {
 public:
  /// Analyses the matrix, starts the runtime, unless the system is small
  /// (SolverOptions::runtime_flops), and then measures what is resident. Several solvers
  /// may exist in a process: they share one runtime and so need the same workers and
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
  /// Of a complex matrix, check()ed: with both triangles or, as its symmetry says, the
  /// lower one.
  Solver(ComplexMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  Solver(Runtime& runtime, ComplexMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step = {});
  /// On the processes of a communicator, which outlives the solver; on one that is alone,
  /// as above.
  /// @param matrix  at process 0; none elsewhere
  /// @throws InvalidInput as above, at every process; for options that need one process
  ///         alone: another scheduler, a budget, a recorded run, a Schur complement
  Solver(Communicator& communicator, std::optional<InputMatrix>&& matrix,
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
  /// @throws InvalidInput before factorise(), FileError; InvalidInput at every process
  ///         that names the file, on several
  void save(const std::string& path) const;
  /// A solver that save() wrote, ready to solve and to factorise again. Its factor is in
  /// memory. Kind, precision, preparation, ordering and pivot threshold are the file's;
  /// `options` gives the others.
  /// @throws FileError saying what is wrong with the file, InvalidInput as Runtime
  [[nodiscard]] static std::unique_ptr<Solver> load(const std::string& path,
                                                    const SolverOptions& options = {});
  [[nodiscard]] static std::unique_ptr<Solver> load(Runtime& runtime,
                                                    const std::string& path,
                                                    const SolverOptions& options = {});
  /// On as many processes as saved it.
  /// @throws InvalidInput at every process: with both numbers, where they differ; naming
  ///         the part that is missing, broken or of another save
  [[nodiscard]] static std::unique_ptr<Solver> load(Communicator& communicator,
                                                    const std::string& path,
                                                    const SolverOptions& options = {});

  [[nodiscard]] FactorKind kind() const { return tree_.kind; }
  [[nodiscard]] Precision precision() const { return options_.precision; }
  /// The symmetry of a complex matrix; none: the matrix is real.
  [[nodiscard]] std::optional<ComplexSymmetry> complex() const {
    return analysis_.permuted.complex;
  }
  /// Whether a directory for what does not fit was given.
  [[nodiscard]] bool spills() const { return !options_.out_of_core.empty(); }
  /// Where the calling thread works alone and there is no budget, the process is measured
  /// when this is first asked for, or by plan() with a bound: panels that are there by
  /// then are not in the baseline, but they are in the peak.
  [[nodiscard]] const MemoryAccount& memory() const;
  /// Least bound that suffices, in core.
  [[nodiscard]] Bytes least() const;
  /// The same out of core, where a directory was given.
  [[nodiscard]] Bytes least_out_of_core() const;
  /// Least bound that plan() takes here, out of core where a directory was given; with a
  /// budget that of the least lease.
  [[nodiscard]] Bytes least_for_plan() const;
  [[nodiscard]] const Analysis& analysis() const { return analysis_; }
  [[nodiscard]] const PreparedMatrix& prepared() const { return prepared_; }
  [[nodiscard]] const AssemblyTree& tree() const { return tree_; }
  [[nodiscard]] Seconds analyse_seconds() const { return analyse_seconds_; }
  /// Whether the system is small enough to be factored and solved by the calling thread.
  [[nodiscard]] bool without_runtime() const { return whole_; }

  /// Plans for a bound on the process. A factor that there was is given up.
  ///
  /// With a budget, a lease is taken of what the bound leaves beside the baseline, or of
  /// all that is left in the budget where that is less.
  /// @param bound  no value: unbounded, with a budget: the most that could be of use
  /// @return Infeasible with the least bound, in core or with the directory that was
  /// given; with the least budget, where the lease cannot be had: there is no plan then
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound);

  /// After plan(). NotPositiveDefinite::column is a column of the matrix as it was read,
  /// 0-based.
  /// @param progress  told the part that is done, now and then; what it throws ends the
  ///                  factorisation and is thrown here when no task runs any more
  /// @throws Error, FileError when the runtime, the system or the spill file fails;
  ///         InvalidInput before plan() and after values that did not fit
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const std::function<void(double)>& progress = {});

  /// Takes new values for the next factorise(): same pattern, same plan, same scaling.
  /// @throws InvalidInput for a matrix that cannot be, or that has an entry outside the
  ///         pattern: there are no values then until others do fit
  /// On several processes: it is read at process 0.
  void replace_values(const InputMatrix& matrix);
  /// @param matrix  check()ed, of the symmetry of the first one
  void replace_values(const ComplexMatrix& matrix);

  /// b := A^-1 b, or A^-T b, for `columns` vectors one after the other, after
  /// factorise(); in the order of the matrix as it was read.
  /// @param rows  where b may have entries, increasing; empty: anywhere
  /// @throws InvalidInput before factorise(), for b of another length than n times
  ///         `columns` or with an entry that is not finite, and for rows that cannot be
  [[nodiscard]] Solution solve(std::span<double> b, std::int32_t columns = 1,
                               Operation operation = Operation::kPlain,
                               std::span<const std::int64_t> rows = {});
  /// op(A) times the vector of ones: a right-hand side whose solution is known.
  [[nodiscard]] std::vector<double> apply_to_ones(
      Operation operation = Operation::kPlain) const;

  /// Of the matrix, after factorise(): zero where it is singular() to working precision.
  /// Where pivots were perturbed it is that of a matrix nearby.
  /// @throws InvalidInput before factorise() and on several processes
  [[nodiscard]] Determinant determinant() const;

  /// The Schur complement of the other variables' block on SolverOptions::schur, after
  /// factorise(): A_kk - A_ki A_ii^-1 A_ik, the whole of it, column by column. It stands
  /// in memory with the factor, inside the bound; `block` is the caller's.
  /// @param block  as many entries as there are such variables, squared
  /// @throws InvalidInput before factorise(), for a block of another size, where no
  ///         variables were named and where A_ii is singular: there is none then
  void schur(std::span<double> block) const;

  /// An orthonormal basis of the null space, null_space() vectors one after the other (of
  /// a complex matrix twice as many, which span it as parts of complex numbers), of
  /// A or of its transpose, after factorise(): inverse iterations on the factor, whose
  /// zero pivots stand for it, and corrections until it is a null space by rows.
  /// @throws InvalidInput before factorise(), and where pivots were perturbed: nothing is
  ///         known of a null space then; Error where vectors do not become null vectors:
  ///         the estimate was wrong
  [[nodiscard]] std::vector<double> null_space_basis(
      Operation operation = Operation::kPlain);

  /// Gives the factor up and keeps the plan: room for what comes before the next one.
  void release_factor();

  /// Growth of the resident set during factorise(): its peak less the baseline. Not
  /// measured where neither StarPU nor a bound is there.
  [[nodiscard]] Bytes factor_growth() const { return factor_growth_; }
  /// VmHWM of the process from its start, over all phases.
  [[nodiscard]] Bytes peak_resident() const;
  /// What went to the spill file and came back, so far.
  [[nodiscard]] SpillFile::Counters spilled() const;
  /// Of the budget; null: none, or no plan yet.
  [[nodiscard]] const Lease* lease() const { return lease_.get(); }
  /// Bytes that plan() sends to the spill file.
  [[nodiscard]] Bytes bytes_to_spill() const { return spill_bytes_; }
  /// Dimension of the null space as the last factorise() estimated it; kept by save().
  [[nodiscard]] std::int64_t null_space() const { return facts_.null_space; }
  /// Whether the matrix is singular to working precision: by its structure, by zero
  /// pivots, or by a null vector that was found where pivots were doubtful. Kept
  /// likewise.
  [[nodiscard]] bool singular() const;

  /// Nothing on one process.
  [[nodiscard]] ProcessFacts process_facts() const;

 private:
  /// What a solver has beside this on several processes: solver_processes.h.
  struct Processes;

  Solver(Runtime* runtime, const SolverOptions& options);
  Solver(Runtime* runtime, InputMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step);
  Solver(Runtime* runtime, SavedSystem&& saved, const SolverOptions& options);
  [[nodiscard]] static std::unique_ptr<Solver> load(Runtime* runtime,
                                                    const std::string& path,
                                                    const SolverOptions& options);
  Solver(Runtime* runtime, ComplexMatrix&& matrix, const SolverOptions& options,
         const std::function<void(std::string_view)>& step);
  void begin(InputMatrix&& matrix, const std::function<void(std::string_view)>& step,
             const ComplexMatrix* numbers = nullptr);
  void prepare_runtime();
  [[nodiscard]] AnalyseOptions analyse_options(FactorKind kind) const;
  void analyse_given(InputMatrix&& matrix, bool whole = false);
  void analyse_inner(const InputMatrix& matrix);
  void build(FactorKind kind);
  [[nodiscard]] bool may_be_whole() const;
  [[nodiscard]] Flops whole_flops(FactorKind kind) const;
  [[nodiscard]] bool is_small(FactorKind kind) const;
  [[nodiscard]] bool join_blocks();

  // On several processes.
  void check_options_together() const;
  void begin_together(std::optional<InputMatrix>&& matrix,
                      const std::function<void(std::string_view)>& step);
  void share_analysis(std::optional<InputMatrix>&& matrix);
  void open_channel();
  void build_together(FactorKind kind);
  void list_mappings();
  void evaluate(TreeMapping&& mapping);
  void foresee_baselines();
  void take(const TreeMapping& mapping);
  [[nodiscard]] Bytes matrix_bytes() const;
  [[nodiscard]] Bytes matrix_bytes_now() const;
  [[nodiscard]] tl::expected<void, Infeasible> plan_together(std::optional<Bytes> bound);
  [[nodiscard]] Infeasible too_little(Bytes bound, Bytes least) const;
  void replace_together(const InputMatrix& matrix);
  [[nodiscard]] SystemFacts system_facts() const;
  void save_together(const std::string& path) const;
  void load_together(SectionReader& file, std::vector<WorkerRange>&& group);
  void close_channel();

  /// Numbers in a vector, and those of variables that are eliminated.
  [[nodiscard]] std::int32_t vector_size() const {
    return analysis_.permuted.vector_size();
  }
  [[nodiscard]] std::int32_t inner_size() const {
    return analysis_.permuted.parts() * analysis_.symbolic.inner();
  }
  [[nodiscard]] ScaledPermutation map(Operation operation) const;
  /// The matrix, or what of it is at this process.
  [[nodiscard]] MatrixPart matrix() const;
  /// The factor is given up: by a plan, by new values.
  void forget_factor();
  /// Takes the one that was given, or starts one.
  void start_runtime();
  void open_spill_file();
  /// Of a number that decides how to go on: the least that any process has.
  [[nodiscard]] std::int32_t agree(std::int32_t value) const;
  [[nodiscard]] NodeOrder node_order() const;
  [[nodiscard]] Bytes reserve_bytes();
  [[nodiscard]] Bytes solve_bytes(std::int32_t columns) const;
  [[nodiscard]] Bytes bare_solve_bytes(std::int32_t columns) const;
  [[nodiscard]] Bytes refining_bytes(std::int32_t columns, std::int32_t basis) const;
  [[nodiscard]] Bytes estimating_bytes(std::int32_t basis) const;
  [[nodiscard]] AssemblyOptions assembly_options() const;
  [[nodiscard]] FactorInput input() const;
  [[nodiscard]] PivotOptions pivot_options() const;
  [[nodiscard]] LowRankOptions low_rank_options() const;
  void measure_entries();
  /// Threads that compute.
  [[nodiscard]] std::int32_t workers() const { return whole_ ? 1 : options_.workers; }
  [[nodiscard]] std::int32_t least_basis() const;
  [[nodiscard]] std::int32_t basis_within_bound(
      std::int32_t columns, const std::function<Bytes(std::int32_t)>& bytes) const;
  [[nodiscard]] std::int32_t refining_basis(std::int32_t columns) const;
  [[nodiscard]] std::int32_t estimating_basis(std::int32_t columns) const;

  void account();
  void measure() const;
  [[nodiscard]] std::unique_ptr<Lease> lease_analysis(std::int64_t order,
                                                      std::int64_t entries);
  [[nodiscard]] tl::expected<Bytes, Infeasible> take_lease(std::optional<Bytes> bound);
  [[nodiscard]] Bytes least_inside() const;
  [[nodiscard]] Bytes most_inside() const;
  void drop_factor();
  void check_room(std::optional<Bytes> bound) const;
  void spill_to(Bytes tree_bound);
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise_once(
      double zero, const std::function<void(double)>& progress);
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise_until_clear(
      const std::function<void(double)>& progress);
  [[nodiscard]] double doubtful_pivot() const;
  [[nodiscard]] NullQuotient null_vector_quotient();
  void with_open_solve(std::int32_t columns, const std::function<void()>& body);
  [[nodiscard]] std::int32_t columns_at_once(std::int32_t columns);
  [[nodiscard]] BlockOperator factored(bool transposed);
  /// @param most  right-hand sides that there is memory for; b may hold fewer
  [[nodiscard]] RefineOptions refine_options(Operation operation, std::int32_t most);
  void solve_block(std::span<double> b, std::int32_t most, Operation operation,
                   std::span<const std::int32_t> rows, Solution& solution);
  [[nodiscard]] bool lost_a_row() const;
  void estimate(std::span<const double> b, std::span<const double> x, Operation operation,
                std::int32_t most, Solution& solution);
  [[nodiscard]] bool needs_estimate(std::span<const double> b, std::span<const double> x,
                                    double strict) const;
  void judge(Solution& solution) const;

  SolverOptions options_;
  PreparedMatrix prepared_;
  Analysis analysis_;
  Seconds analyse_seconds_ = 0;
  double largest_entry_ = 0;
  std::int32_t tree_workers_ = 1;  // that the tree was built for
  bool whole_ = false;             // one node, run by the calling thread
  AssemblyTree tree_;
  Runtime* given_runtime_ = nullptr;
  std::optional<Runtime> own_runtime_;
  Runtime* runtime_ = nullptr;  // one of the two; null: the calling thread does it all
  std::unique_ptr<Lease> lease_;
  std::unique_ptr<Processes> processes_;  // null: one
  std::unique_ptr<Numeric> numeric_;
  std::unique_ptr<espalier_plan, void (*)(espalier_plan*)> plan_;
  mutable MemoryAccount memory_;
  mutable bool measured_ = false;  // its baseline and its peak are known
  std::optional<Bytes> bound_;
  bool planned_ = false;
  bool has_values_ = true;  // false: those that were given did not fit
  bool factored_ = false;

  // Solutions refined at once: GMRES keeps 61 vectors beside them.
  static constexpr std::int32_t kBlock = 16;

  Bytes spill_bytes_ = 0;
  std::shared_ptr<SpillFile> file_;
  Bytes factor_growth_ = 0, peak_resident_ = 0;
  PivotFacts facts_;  // of the last factorise()
};

}  // namespace espalier::solver
