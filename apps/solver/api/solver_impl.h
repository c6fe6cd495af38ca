#pragma once

// What stands behind Solver. Every step of every phase is named here, and nowhere else:
// over 300 lines.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "solver/api/numeric.h"
#include "solver/api/solver.h"
#include "solver/matrix/matrix_part.h"
#include "solver/refine/condition.h"
#include "solver/refine/refine.h"
#include "solver/refine/singular_blocks.h"
#include "solver/refine/singularity.h"
#include "solver/scaling/value_places.h"
#include "solver/tree/spill_plan.h"

struct espalier_plan;

namespace espalier::solver {

class ScaledPermutation;
class SectionReader;

struct FrontDistribution;
struct SavedSystem;
struct SystemFacts;
struct TreeMapping;

/// A Solver: functions of its names are its own, said there. One that was loaded or that
/// is made on a communicator is the same object.
struct __attribute__((visibility("hidden"))) Solver::Impl {
  /// What a solver has beside this on several processes: solver_processes.h.
  struct Processes;

  /// @param runtime  null: it starts one where it needs one
  Impl(Runtime* runtime, InputMatrix&& matrix, const SolverOptions& options,
       const std::function<void(std::string_view)>& step);
  Impl(Runtime* runtime, ComplexMatrix&& matrix, const SolverOptions& options,
       const std::function<void(std::string_view)>& step);
  Impl(Runtime* runtime, SavedSystem&& saved, const SolverOptions& options);
  Impl(Communicator& communicator, std::optional<InputMatrix>&& matrix,
       const SolverOptions& options, const std::function<void(std::string_view)>& step);
  Impl(Communicator& communicator, std::optional<ComplexMatrix>&& matrix,
       const SolverOptions& options, const std::function<void(std::string_view)>& step);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  void save(const std::string& path, const std::function<void(double)>& progress) const;
  [[nodiscard]] static std::unique_ptr<Impl> load(
      Runtime* runtime, const std::string& path, const SolverOptions& options,
      const std::function<void(double)>& progress);
  [[nodiscard]] static std::unique_ptr<Impl> load(
      Communicator& communicator, const std::string& path, const SolverOptions& options,
      const std::function<void(double)>& progress);

  [[nodiscard]] FactorKind kind() const { return tree_.kind; }
  [[nodiscard]] Precision precision() const { return options_.precision; }
  [[nodiscard]] std::optional<ComplexSymmetry> complex() const {
    return analysis_.permuted.complex;
  }
  [[nodiscard]] bool spills() const { return !options_.out_of_core.empty(); }
  [[nodiscard]] const MemoryAccount& memory() const;
  [[nodiscard]] Bytes least() const;
  [[nodiscard]] Bytes least_out_of_core() const;
  [[nodiscard]] Bytes least_for_plan() const;
  [[nodiscard]] const Analysis& analysis() const { return analysis_; }
  [[nodiscard]] const PreparedMatrix& prepared() const { return prepared_; }
  [[nodiscard]] const AssemblyTree& tree() const { return tree_; }
  [[nodiscard]] Seconds analyse_seconds() const { return analyse_seconds_; }
  [[nodiscard]] bool of_transposed() const { return options_.of_transposed; }
  [[nodiscard]] bool without_runtime() const { return whole_; }

  void settle_order(std::optional<Bytes> bound);
  [[nodiscard]] const std::vector<TriedOrdering>& orderings_tried() const {
    return tried_;
  }
  [[nodiscard]] tl::expected<void, Infeasible> plan(std::optional<Bytes> bound);
  [[nodiscard]] bool may_not_fit() const { return hopes_; }

  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const std::function<void(double)>& progress);

  void replace_values(const InputMatrix& matrix);
  void replace_values(ComplexMatrix&& matrix);

  [[nodiscard]] Solution solve(std::span<double> b, std::int32_t nrhs,
                               Operation operation, std::span<const std::int64_t> rows,
                               const std::function<void(double)>& progress);
  void solve_part(FactorPart part, std::span<double> b, std::int32_t nrhs,
                  Operation operation, const std::function<void(double)>& progress);
  void inverse_entries(std::span<const std::int32_t> rows,
                       std::span<const std::int32_t> columns, std::span<double> values,
                       const std::function<void(double)>& progress);
  [[nodiscard]] std::vector<double> apply_to_ones(Operation operation) const;

  [[nodiscard]] Determinant determinant() const;

  void schur(std::span<double> block) const;

  [[nodiscard]] std::vector<double> null_space_basis(Operation operation);
  void find_null_basis(Operation operation,
                       const std::function<void(std::span<double>, bool)>& solve,
                       std::span<double> basis) const;

  void set_refinement(bool refine, bool no_residual, bool estimate_errors) {
    options_.refine = refine;
    options_.no_residual = no_residual;
    options_.estimate_errors = estimate_errors;
  }
  void release_factor();

  [[nodiscard]] Bytes factor_growth() const { return factor_growth_; }
  [[nodiscard]] Bytes peak_resident() const;
  [[nodiscard]] SpillFile::Counters spilled() const;
  [[nodiscard]] const Lease* lease() const { return lease_.get(); }
  [[nodiscard]] Bytes bytes_to_spill() const { return spill_bytes_; }
  [[nodiscard]] std::int64_t null_space() const { return pivots_.null_space; }
  [[nodiscard]] const PivotStatistics& pivots() const { return pivots_; }
  /// Zero pivots but for those of unmatched variables, which no values would mend.
  [[nodiscard]] std::int64_t zeros_of_values() const;
  [[nodiscard]] bool singular() const;

  [[nodiscard]] ProcessFacts process_facts() const;

 private:
  Impl(Runtime* runtime, const SolverOptions& options);
  void begin(InputMatrix&& matrix, const std::function<void(std::string_view)>& step,
             const ComplexMatrix* numbers = nullptr);
  void begin(ComplexMatrix&& matrix, const std::function<void(std::string_view)>& step);
  template <class Matrix>
  bool begin_alone(Communicator& communicator, std::optional<Matrix>& matrix,
                   const std::function<void(std::string_view)>& step);
  void take_symmetry(std::optional<ComplexSymmetry> complex);
  void take_numbers(const ComplexMatrix* numbers);
  void prepare_runtime();
  [[nodiscard]] AnalyseOptions analyse_options() const;
  void analyse_given(InputMatrix&& matrix, bool hermitian = false);
  void analyse_inner(const InputMatrix& matrix);
  void build(FactorKind kind);
  void take_tree(AssemblyTree&& tree);
  [[nodiscard]] bool may_try_another() const;
  [[nodiscard]] bool has_room_to_analyse(Bytes least) const;
  [[nodiscard]] Analysis analyse_again(OrderingKind ordering) const;
  void take_analysis(Analysis&& next);
  void try_other_order();
  [[nodiscard]] bool may_be_whole() const;
  [[nodiscard]] Flops whole_flops(FactorKind kind) const;
  [[nodiscard]] bool is_surely_small(std::int64_t order) const;
  [[nodiscard]] bool is_small(const Symbolic& symbolic, FactorKind kind) const;
  [[nodiscard]] bool singular_in_blocks() const;
  [[nodiscard]] bool join_blocks();
  [[nodiscard]] Bytes coupling_bytes() const;
  void couple_blocks(FactorReport& run, const std::function<void(double)>& progress);
  void find_coupled_pivots(const std::function<void()>& ask);
  [[nodiscard]] bool analyse_joined();

  /// Of what may leave memory: that it can be used, here and at each process.
  void check_directory() const;

  // On several processes.
  void check_options_together() const;
  void begin_together(std::optional<InputMatrix>&& matrix,
                      std::optional<ComplexMatrix>&& numbers,
                      const std::function<void(std::string_view)>& step);
  void share_analysis(std::optional<InputMatrix>&& matrix,
                      std::optional<ComplexMatrix>&& numbers);
  void share_order(FactorKind kind);
  [[nodiscard]] bool join_blocks_together();
  void open_channel();
  [[nodiscard]] AssemblyTree tree_of_all(const Symbolic& symbolic) const;
  void build_together(FactorKind kind);
  void try_other_order_together();
  void list_mappings();
  /// What this process has under a mapping, and what that takes: both in
  /// solver_processes.h.
  struct ProcessPart;
  struct MappingNeeds;
  [[nodiscard]] ProcessPart part_under(const TreeMapping& mapping) const;
  [[nodiscard]] MappingNeeds needs_of(TreeMapping&& mapping) const;
  void foresee_baselines();
  void hold(ProcessPart&& part);
  void let_go_of_part();
  void hold_under(const TreeMapping& mapping);
  [[nodiscard]] Bytes matrix_bytes(const FrontDistribution& distribution) const;
  [[nodiscard]] Bytes matrix_bytes_now() const;
  [[nodiscard]] tl::expected<void, Infeasible> plan_together(std::optional<Bytes> bound);
  void move_matrix();
  [[nodiscard]] std::unique_ptr<Lease> lease_analysis_together(
      const std::optional<InputMatrix>& matrix);
  [[nodiscard]] const MappingNeeds& choose_in_budget(std::optional<Bytes> bound) const;
  [[nodiscard]] tl::expected<Bytes, Infeasible> lease_together(
      std::optional<Bytes> bound);
  [[nodiscard]] Bytes missing_together();
  [[nodiscard]] Infeasible too_little(Bytes bound, Bytes least) const;
  void sum_rows_in_order();
  template <class Matrix>
  void replace_together(const Matrix& matrix, const std::function<void()>& check);
  [[nodiscard]] SystemFacts system_facts() const;
  void save_together(const std::string& path,
                     const std::function<void(std::int64_t)>& written) const;
  void load_together(SectionReader& file, std::vector<WorkerRange>&& group);
  void close_channel();

  /// Numbers in a vector, and those of variables that are eliminated. A process that has
  /// none of the matrix has whole vectors, too.
  [[nodiscard]] std::int32_t vector_size() const {
    return analysis_.permuted.parts() * analysis_.symbolic.size;
  }
  [[nodiscard]] std::int32_t inner_size() const {
    return analysis_.permuted.parts() * analysis_.symbolic.inner();
  }
  [[nodiscard]] ScaledPermutation map(Operation operation) const;
  /// The matrix, or what of it is at this process.
  [[nodiscard]] MatrixPart matrix() const;
  /// Gives up the last plan and its factor.
  void release_plan();
  /// Takes the one that was given, or starts one.
  void start_runtime();
  void open_spill_file();
  /// Of a number that decides how to go on: the least that any process has.
  [[nodiscard]] std::int32_t agree(std::int32_t value) const;
  [[nodiscard]] NodeOrder node_order() const;
  /// What is factored, and as what: accounts of memory are of this, whatever is at hand.
  struct Grouping {
    const Symbolic& symbolic;
    const AssemblyTree& tree;
    FactorKind kind;  ///< as which the factorisation may end
    NodeOrder order;
    const FrontDistribution* distribution = nullptr;  ///< null: of one process
  };
  [[nodiscard]] Grouping at_hand() const;
  [[nodiscard]] FactorKind accounted_kind() const;
  [[nodiscard]] MemoryAccount account(const Grouping& of) const;
  [[nodiscard]] Bytes reserve_bytes(const Grouping& of) const;
  [[nodiscard]] Bytes delay_reserve(FactorKind kind) const;
  [[nodiscard]] Bytes more_for_delays(Bytes bound) const;
  [[nodiscard]] Bytes solve_bytes(const Grouping& of, std::int32_t nrhs) const;
  [[nodiscard]] Bytes bare_solve_bytes(const Grouping& of, std::int32_t nrhs) const;
  [[nodiscard]] Bytes refining_bytes(const Symbolic& symbolic, std::int32_t nrhs,
                                     std::int32_t basis, std::int32_t threads = 1) const;
  [[nodiscard]] Bytes estimating_bytes(const Symbolic& symbolic,
                                       std::int32_t basis) const;
  [[nodiscard]] Bytes mapping_bytes(const Symbolic& symbolic) const;
  [[nodiscard]] Bytes factor_bytes_in_memory(const Grouping& of) const;
  [[nodiscard]] Bytes schur_bytes(const Symbolic& symbolic) const;
  [[nodiscard]] Bytes null_basis_bytes(std::int64_t vectors) const;
  /// Whether rows and columns are scaled, and moved, alike.
  [[nodiscard]] bool has_one_scale() const {
    return prepared_.kind != FactorKind::kLu && prepared_.row_of.empty();
  }
  [[nodiscard]] std::int32_t systems(const Symbolic& symbolic) const;
  [[nodiscard]] AssemblyOptions assembly_options(FactorKind kind) const;
  [[nodiscard]] FactorInput input(const Grouping& of) const;
  [[nodiscard]] PivotOptions pivot_options() const;
  [[nodiscard]] LowRankOptions low_rank_options() const;
  [[nodiscard]] bool may_share_node(std::optional<Bytes> bound);
  [[nodiscard]] Bytes bytes_for_threads() const;
  void measure_entries();
  void note_other_values();
  void measure_entries_together();
  [[nodiscard]] bool put_again(const InputMatrix& matrix);
  void keep_places(const InputMatrix& matrix);
  [[nodiscard]] double largest_anywhere() const;
  /// Threads that compute.
  [[nodiscard]] std::int32_t workers() const { return whole_ ? 1 : options_.workers; }
  [[nodiscard]] std::int32_t least_basis(FactorKind kind) const;
  [[nodiscard]] bool may_take_gmres() const;
  [[nodiscard]] std::int32_t basis_within_bound(
      std::int32_t nrhs, const std::function<Bytes(std::int32_t)>& bytes) const;
  [[nodiscard]] std::int32_t refining_basis(std::int32_t nrhs) const;
  [[nodiscard]] std::int32_t refining_threads(std::int32_t nrhs,
                                              std::int32_t basis) const;
  [[nodiscard]] std::int32_t estimating_basis(std::int32_t nrhs) const;

  void find_account() const;
  [[nodiscard]] Bytes least_for_fronts() const;
  void measure() const;
  [[nodiscard]] std::unique_ptr<Lease> lease_analysis(std::int64_t order,
                                                      std::int64_t entries);
  [[nodiscard]] tl::expected<Bytes, Infeasible> take_lease(std::optional<Bytes> bound);
  [[nodiscard]] Bytes least_hoped() const;
  [[nodiscard]] bool may_hope() const;
  [[nodiscard]] Bytes given_back() const;
  [[nodiscard]] Bytes solve_room() const;
  void check_room_to_solve() const;
  void check_room_for_null_basis(std::int64_t vectors, std::int32_t block) const;
  [[nodiscard]] Bytes least_inside(const MemoryAccount& account) const;
  [[nodiscard]] Bytes needed_for_plan() const;
  [[nodiscard]] Bytes most_inside() const;
  void drop_factor();
  void check_room(std::optional<Bytes> bound) const;
  [[nodiscard]] Bytes within_address_space(Bytes bound) const;
  /// Of the bound at hand; the largest number where there is none.
  [[nodiscard]] Bytes bound_for_tree() const;
  void choose_spilled();
  struct ZeroPivots {
    double below = 0;        ///< PivotOptions::zero
    double replacement = 0;  ///< PivotOptions::of_zero
  };
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise_once(
      ZeroPivots zero, const std::function<void(double)>& progress);
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise_in_hope(
      const std::function<void(double)>& progress);
  void go_on_as_ldlt();
  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> factorise_until_clear(
      const std::function<void(double)>& progress);
  [[nodiscard]] double doubtful_pivot() const;
  [[nodiscard]] double unit_of_pivots() const;
  [[nodiscard]] bool is_of_scale() const;
  [[nodiscard]] NullQuotient null_vector_quotient(const std::function<void()>& ask);
  void make_room_to_solve(std::int32_t nrhs);
  void with_open_solve(std::int32_t nrhs, const std::function<void()>& body,
                       Bytes beside = 0);
  [[nodiscard]] std::int32_t nrhs_at_once(std::int32_t nrhs);
  /// How blocks of right-hand sides are solved for.
  struct Pass {
    Operation operation;
    std::int32_t
        most;  ///< right-hand sides that there is memory for; a block may be less
    std::span<const std::int32_t> rows;
    /// Before the factor is gone over, and on the way; may be empty.
    std::function<void()> ask;
  };
  // Collective.
  [[nodiscard]] std::function<void()> asking(const std::function<void()>& ask) const;
  /// The same of a factorisation that is done but for what is found out of its factor.
  /// @param progress  outlives what is returned
  [[nodiscard]] std::function<void()> asking_by(
      const std::function<void(double)>& progress) const;
  /// @param ask  as of a Pass
  [[nodiscard]] BlockOperator factored(bool transposed,
                                       const std::function<void()>& ask = {});
  [[nodiscard]] RefineOptions refine_options(const Pass& pass);
  [[nodiscard]] bool may_solve_plainly(std::span<double> b, std::int32_t nrhs) const;
  [[nodiscard]] std::optional<Solution> solve_plainly(std::span<double> b);
  void check_factor_part(FactorPart part) const;
  void check_places(std::span<const std::int32_t> rows,
                    std::span<const std::int32_t> columns,
                    std::span<double> values) const;
  void inverse_columns(std::span<const std::size_t> by_columns,
                       std::span<const std::int32_t> rows,
                       std::span<const std::int32_t> columns, std::span<double> values,
                       const std::function<void(double)>& progress);
  /// A block of vectors, which the next one takes over.
  struct BlockSpace {
    std::vector<double> rhs, x, residuals;
    std::vector<int> exponents;  // of two, by which right-hand sides were divided
  };
  void to_inner(std::span<const double> b, const ScaledPermutation& map,
                BlockSpace& space) const;
  // A vector of a block: scaled b and x, where x goes to, the exponent of b, and the
  // BackwardError::strict of its block.
  struct Refined {
    std::span<double> side, found, given;
    int exponent;
    double strict;
  };
  [[nodiscard]] std::optional<double> give_solution(const Refined& one, const Pass& pass,
                                                    const RefineOptions& measuring,
                                                    Solution& solution);
  void solve_block(std::span<double> b, const Pass& pass, BlockSpace& space,
                   Solution& solution);
  [[nodiscard]] bool lost_a_row() const;
  // A vector of a block that is to be estimated: where it begins, and
  // ErrorEstimateOptions::enough.
  struct Estimated {
    std::size_t at;
    double enough;
  };
  [[nodiscard]] BlockOperator estimating(bool transposed, const Pass& pass,
                                         const GivenUnknowns& given,
                                         std::span<double> scratch, double& unrefined);
  [[nodiscard]] std::span<double> weights_of_verdicts(std::span<const Estimated> wanted,
                                                      std::span<const double> norms,
                                                      BlockSpace& space) const;
  void estimate(std::span<const Estimated> wanted, const Pass& pass,
                const RefineOptions& measuring, BlockSpace& space, Solution& solution);
  [[nodiscard]] std::optional<double> wants_estimate(std::span<const double> b,
                                                     std::span<const double> x,
                                                     const RefineOptions& measuring,
                                                     double strict);
  [[nodiscard]] double hidden_by_scale(std::span<const double> x,
                                       const RefineOptions& measuring);
  [[nodiscard]] bool hides_nothing() const;
  [[nodiscard]] double least_part_of_pivot() const;
  [[nodiscard]] bool is_huge(double x, double b) const;
  [[nodiscard]] bool leaves_a_part(std::span<const double> b, std::span<const double> x,
                                   Operation operation) const;
  [[nodiscard]] std::span<double> set_unmatched(std::span<double> basis) const;
  [[nodiscard]] bool is_rough() const;
  void judge(Solution& solution) const;

  SolverOptions options_;
  PreparedMatrix prepared_;
  Analysis analysis_;
  std::optional<ValuePlaces> places_;  // of the last values, where they are few
  std::vector<double> plain_;          // of solve_plainly(), to be used again
  std::vector<TriedOrdering> tried_;   // the first order and another one, or none
  Seconds analyse_seconds_ = 0;
  double largest_entry_ = 0;
  std::int32_t tree_workers_ = 1;  // that the tree was built for
  bool whole_ = false;             // one node, without a runtime
  NodePieces pieces_;              // of that, for several threads; none: it is one's
  bool shares_node_ = false;       // they take its pieces, under the plan at hand
  AssemblyTree tree_;
  Runtime* given_runtime_ = nullptr;
  std::optional<Runtime> own_runtime_;
  Runtime* runtime_ = nullptr;  // one of the two; null: the calling thread does it all
  std::unique_ptr<Lease> lease_;
  std::unique_ptr<Processes> processes_;  // null: one
  std::unique_ptr<Numeric> numeric_;
  std::unique_ptr<espalier_plan, void (*)(espalier_plan*)> plan_;
  mutable MemoryAccount memory_;
  mutable bool accounted_ = false;  // it is there
  mutable bool measured_ = false;   // with its baseline and its peak
  std::optional<Bytes> bound_;
  bool hopes_ = false;  // that it suffices
  bool planned_ = false;
  bool has_values_ = true;  // false: those that were given did not fit
  bool factored_ = false;

  // Solutions refined at once: GMRES keeps 61 vectors beside them.
  static constexpr std::int32_t kBlock = 32;

  Bytes spill_bytes_ = 0;
  std::shared_ptr<SpillFile> file_;
  Bytes factor_growth_ = 0, peak_resident_ = 0;
  PivotStatistics pivots_;    // of the last factorise()
  bool doubtful_ = false;     // likewise: some are so small that they may be rounding
  bool null_vector_ = false;  // one was found: singular to working precision
  double zero_ = 0;           // likewise: PivotOptions::zero
  std::int64_t zeros_of_blocks_ = 0;      // that coupled_ was found for; 0: it was not
  std::optional<CoupledPivots> coupled_;  // what solves by blocks lack
};

}  // namespace espalier::solver
