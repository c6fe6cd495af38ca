#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/parallel/make_plan.h"
#include "espalier/sequential/tree/tree_orders.h"
#include "espalier/solver/budget.h"
#include "espalier/solver/matrix.h"

namespace espalier::solver {

/// How the columns are ordered to keep the factor sparse.
enum class OrderingKind {
  kNested,   ///< nested dissection of our own, in parallel, nested_dissection()
  kMetis,    ///< nested dissection, METIS_NodeND, with sides of up to 1.4 to 1
  kScotch,   ///< nested dissection, SCOTCH_graphOrder with its default strategy
  kAmd,      ///< approximate minimum degree
  kNatural,  ///< the order of the file
  kAuto,     ///< the cheapest for the whole solve, see compute_ordering()
};

/// When a child front is merged into its parent: when the panel of the merged front holds
/// at most `zeros` of explicit zeros, as a fraction, by the first limit whose `pivots` is
/// not below those of the merged front.
///
/// The time of a sequential factorisation hardly depends on limits near the defaults, so
/// these keep zeros few. Narrow fronts, of at most 256 pivots with at least four rows of
/// contribution block for each, may hold 15 % whatever the limits: there the additions
/// into parents cost more. Zeros: 4 to 5 % of the factor on 7-point grids, 12 % on
/// 5-point grids.
struct AmalgamationOptions {
  struct Limit {
    std::int32_t pivots;
    double zeros;
  };
  bool relaxed = true;  ///< false: only merges that add no zero
  std::array<Limit, 3> limits = {{{4, 0.60}, {16, 0.20}, {48, 0.10}}};
  double zeros_beyond = 0.02;  ///< of merged fronts with more pivots than any limit
  /// A connected system of at most so many columns, and of 64, is one front in the order
  /// in which they are given, unless an ordering is asked for: to look at its pattern
  /// takes longer than its zeros do. Relaxed only; 0: none.
  std::int32_t whole_system = 16;
};

/// Which siblings are bundled. Each task of the runtime has memory of its own, in whole
/// pages, so that a hundred thousand small leaves of one front would take a hundred times
/// their factor, more than their time, and more mappings than a system allows.
struct BundleOptions {
  /// Siblings whose common subtree has at least this work, or of a small system what
  /// makes a task there: below it all is one task anyway …
  Flops parent_work = 2e7;
  /// … and all of a bundle at most this, or that: time of its tasks is far above the
  /// runtime's.
  Flops bundle_work = 1e6;
  /// What a task takes beside its entries.
  Bytes task_bytes = 12288;
};

/// Which fronts get their pivots in clusters, and of what size.
struct ClusterOptions {
  std::int32_t least_pivots = 0;  ///< fronts with fewer are left as they are
  std::int32_t size = 128;  ///< columns of a cluster; the last of a front may be less
};

/// How a matrix is scaled, and how large entries come to its diagonal.
struct PrepareOptions {
  enum class Scaling {
    kAuto,         ///< Cholesky: see prepare(); L D L^T and LU: by matching
    kNone,         ///< but for one factor where entries are far from 1: uniform_log()
    kEquilibrate,  ///< largest entry of each row and column near 1
    kMatching,     ///< maximum_product_matching(); Cholesky: as kEquilibrate
  };
  Scaling scaling = Scaling::kAuto;
  /// L D L^T by matching: two columns become partners when a scaled diagonal entry of
  /// either is below this. A pair costs fill: on saddle points 1 to 8 times the
  /// operations that are predicted without pairs (0). But a column with a weak diagonal
  /// entry that is ordered without its partner is delayed, front by front, and what that
  /// takes is in no prediction: four to six times the memory on interior-point systems.
  double weak_diagonal = 0.01;
  /// LU by matching: only the diagonal blocks of the block triangular form are factored.
  /// L D L^T by matching: see prepare_singletons(). Both, by any scaling: of a matrix
  /// that is singular by its pattern what a maximum matching leaves out is not factored.
  bool block_triangular = true;
  /// So many variables that a maximum matching leaves out are factored with the others,
  /// as zero pivots at the end, where they meet whatever is singular by its values as
  /// well.
  std::int32_t few_unmatched = 8;
  /// False: without prepare_singletons(), as of Hermitian matrices.
  bool exchange_singletons = true;
};

/// How a matrix is ordered, and how columns become fronts.
struct AnalyseOptions {
  OrderingKind ordering = OrderingKind::kAuto;
  AmalgamationOptions amalgamation;
  BundleOptions bundles = {};
  /// Takes the place of `ordering`: a permutation of the columns, order[k] is eliminated
  /// as the k-th, up to changes that keep the fill. Empty: there is none.
  std::vector<std::int32_t> order = {};
  /// Large fronts' pivots are put in clusters, for compression; least_pivots 0: they stay
  /// in the order of the graph's.
  ClusterOptions clusters = {};
  /// Threads that order, the caller's among them. The result is the same for any.
  std::int32_t workers = 1;
  /// Called by the thread that analyses, some thousand times a second: before each step,
  /// in a dissection and while a matching is sought; not while a library orders. What it
  /// throws ends the analysis and is thrown there: nothing is changed then. Empty: not
  /// called. On several processes at process 0; Cancelled is thrown at the others then.
  std::function<void()> interrupt = {};
};

/// Whether fronts that processes share are cut into tiles over grids of processes.
enum class FrontGrids : std::int8_t {
  kNever,     ///< a block column of a front has one owner
  kByVolume,  ///< where the process that receives most of a front receives less by a
              ///< quarter: from four processes on, of large fronts
  kAlways     ///< wherever a front has two rows of tiles: for tests
};

/// All that a Solver may be told; each has a default that suits most systems.
struct SolverOptions {
  /// None: as the matrix looks, and L D L^T when a Cholesky pivot fails.
  std::optional<FactorKind> kind;
  Precision precision = Precision::kDouble;  ///< of the factor
  PrepareOptions prepare;
  AnalyseOptions analysis;
  std::int32_t workers = 1;
  std::string scheduler = "espalier";
  /// A factorisation of fewer operations is done without the runtime, by the calling
  /// thread and, where that is worth their start, as many others as make `workers`, which
  /// end with it; 0: always on the runtime. What may leave memory (out_of_core) or asks
  /// for another scheduler is on the runtime, too. None: 4e9.
  std::optional<Flops> runtime_flops;
  OrderKind order = OrderKind::kLiu;
  MappingKind mapping = MappingKind::kMemoryAware;
  double pivot_threshold = 0.01;  ///< LDL^T, LU: see PivotOptions
  /// Part of the bound kept for delayed pivots, none for Cholesky; without a bound they
  /// are never refused. 0: static pivoting. None: 1 MiB, which takes what small and
  /// medium fronts of well-ordered systems delay, and a quarter of what the bound has
  /// beyond the least, or what nothing else could use of it, if that is more; of several
  /// processes, the one that has least of that.
  std::optional<Bytes> delay_reserve;
  /// Directory for what does not fit in the bound; empty: everything stays in memory. One
  /// in which no file can be made is a FileError of the constructor.
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
  /// Solver::solve_part() is going to be called: the matrix is not put in block
  /// triangular form, of which there is no one L and U.
  bool factor_parts = false;
  /// The matrix that is handed in is the transposed of the one that it stands for. Solves
  /// are with what is handed in; save() keeps this, for who solves with the loaded
  /// factorisation: Solver::of_transposed().
  bool of_transposed = false;
  /// Shared with others in this process; null: none. Construction holds a lease of
  /// analysis_bytes(), and of start_bytes() where it starts the runtime; plan() takes one
  /// for factorising and solving, which is kept until the next plan() or the end.
  std::shared_ptr<Budget> budget;
  /// How long to wait for a lease that others have to give back first.
  Budget::Duration lease_patience{0};
  /// Every task of the factorisation, in FactorReport::run: in core, in one process.
  bool record_run = false;
  /// On several processes, where `kind` is given. Of a factorisation that was saved it is
  /// what it was then.
  FrontGrids front_grids = FrontGrids::kNever;
  /// Variables that are not eliminated, from 0, in the order in which schur() gives them;
  /// empty: all are. What is said of the matrix then (singular(), null_space(),
  /// determinant(), the kind) is said of the others' block, which alone is solved with:
  /// solve() does not read the right-hand sides' entries of these variables, and leaves
  /// zeros there. In one process; such a factorisation is not saved.
  std::vector<std::int32_t> schur = {};
};

}  // namespace espalier::solver
