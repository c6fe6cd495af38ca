#pragma once

#include <complex>
#include <limits>
#include <memory>
#include <optional>
#include <type_traits>
#include <vector>

#include "espalier/model/clock.h"
#include "solver/api/numeric.h"
#include "solver/front/repeated_cholesky.h"
#include "solver/refine/scaled_permutation.h"
#include "solver/runtime/team_solve.h"
#include "solver/runtime/tree_solve.h"
#include "solver/save/save_factor.h"
#include "solver/solve/block_substitution.h"
#include "solver/solve/factor_parts.h"
#include "solver/solve/kept_block.h"
#include "solver/solve/solve_vectors.h"
#include "solver/symbolic/front_cost.h"

namespace espalier::solver {

/// Numeric with a factor of T's: each of its functions, over 300 lines.
template <class T>
class TypedNumeric : public Numeric {
 public:
  tl::expected<FactorReport, NotPositiveDefinite> factorise(
      const FactorInput& input, const Runtime* runtime, const espalier_plan* plan,
      const std::function<void(double)>& progress) override {
    if constexpr (std::is_same_v<T, double>)
      if (runtime == nullptr && may_repeat(input)) return repeat(input, progress);
    repeated_.reset();
    std::vector<PageBuffer> former;
    if (input.keeps_pages && factor_.storage.size() == input.tree.nodes.size())
      former = std::move(factor_.storage);
    factor_ = {};
    FactorInput given = input;
    given.former = former;
    FactorReport report;
    try {
      auto factor = runtime == nullptr && given.pieces == nullptr
                        ? compute_here(given, report, progress)
                        : compute_in_pool(given, runtime, plan, report, progress);
      if (!factor) return tl::make_unexpected(factor.error());
      factor_ = std::move(*factor);
    } catch (...) {
      former.clear();  // before the pool of its pages
      release_factor();
      throw;
    }
    return report;
  }

  void open_solve(const Symbolic& symbolic, const AssemblyTree& tree,
                  const BlockForm& form, const Runtime* runtime, std::int32_t nrhs,
                  Bytes read_limit, const NodePieces* pieces) override {
    need_factor(symbolic);
    view_.emplace(FactorView<T>{symbolic, tree, factor_});
    runtime_ = runtime;
    pieces_ = pieces;
    if (runtime_ != nullptr) open(*view_, *runtime_, nrhs, read_limit);
    if (!form.empty()) {
      blocks_.emplace(*view_, form, nrhs,
                      runtime_ != nullptr ? block_team(*runtime_) : BlockTeam<T>());
      return;
    }
    vectors_ =
        SolveVectors<T>(symbolic.size, tree.kind, nrhs,
                        sizeof(RealOf<T>) < sizeof(double) ? independent_systems(symbolic)
                                                           : std::vector<std::int32_t>{});
  }

  void solve(bool transposed, std::span<double> block, std::int32_t nrhs,
             std::span<const std::int32_t> rows,
             const std::function<void()>& ask) override {
    std::optional<OneBlasThread> one_thread;
    if (blocks_ || runtime_ == nullptr) one_thread.emplace();
    // A^H x = b is A^T times the conjugate of x.
    const bool conjugate = transposed && kIsComplex<T> && !kIsHermitian<T>;
    if (conjugate) conjugate_parts(block);
    if (blocks_)
      blocks_->solve(transposed, block, nrhs, ask);
    else
      vectors_.apply(block, nrhs, [&](const Vectors<T>& b, const Vectors<T>& x) {
        if (runtime_ == nullptr) return solve_here(transposed, b, x, ask);
        const Awake awake(*runtime_);
        apply(transposed, b, x, rows, ask);
      });
    if (conjugate) conjugate_parts(block);
  }

  std::int64_t alone_entries(const Symbolic& symbolic,
                             const AssemblyTree& tree) const override {
    if (!std::is_same_v<T, double> || tree.kind == FactorKind::kLu) return 0;
    return SequentialSweep<T>::entries({symbolic, tree, factor_}, 1);
  }
  void solve_alone(const Symbolic& symbolic, const AssemblyTree& tree,
                   std::span<double> x, std::span<double> work) const override {
    if constexpr (std::is_same_v<T, double>) {
      std::optional<OneBlasThread> one_thread;
      if (!repeated_ || repeated_->calls_blas()) one_thread.emplace();
      const Vectors<T> vector{x.data(), std::ssize(x), 1};
      solve_sequentially<T>({symbolic, tree, factor_}, false, vector, vector, work);
    }
  }

  void solve_part(const Symbolic& symbolic, const AssemblyTree& tree, FactorPart part,
                  bool transposed, std::span<double> block, std::int32_t nrhs,
                  const std::function<void()>& ask) const override {
    need_factor(symbolic);
    const OneBlasThread one_thread;
    SolveVectors<T> vectors(symbolic.size, tree.kind, nrhs);
    const bool conjugate = transposed && kIsComplex<T> && !kIsHermitian<T>;
    if (conjugate) conjugate_parts(block);
    vectors.apply(block, nrhs, [&](const Vectors<T>& b, const Vectors<T>& x) {
      solver::solve_part<T>({symbolic, tree, factor_}, part, transposed, b, x, ask);
    });
    if (conjugate) conjugate_parts(block);
  }

  void inverse_entries(const Symbolic& symbolic, const AssemblyTree& tree,
                       std::span<const InversePlace> places, std::int32_t at_once,
                       std::span<double> values,
                       const std::function<void(double)>& progress) const override {
    need_factor(symbolic);
    const OneBlasThread one_thread;
    solver::inverse_entries<T>({symbolic, tree, factor_}, places, at_once, values,
                               progress);
  }

  void release_factor() override {
    repeated_.reset();
    factor_ = {};
    pool_.reset();
  }
  Bytes held_bytes() const override { return factor_.resident(); }
  Bytes waiting_bytes() const override { return pool_ ? pool_->kept() : 0; }
  void make_room(Bytes bytes) override {
    pool_->keep_at_most(pool_->most() - pool_->used() - bytes);
  }

  void close_solve() override {
    close();
    blocks_.reset();
    view_.reset();
    runtime_ = nullptr;
    pieces_ = nullptr;
    vectors_ = {};
  }

  Determinant determinant(const Symbolic& symbolic,
                          const AssemblyTree& tree) const override {
    need_factor(symbolic);
    return pivot_product({symbolic, tree, factor_});
  }
  void read_kept_block(const Symbolic& symbolic, const AssemblyTree& tree,
                       std::span<double> block) const override {
    need_factor(symbolic);
    solver::read_kept_block(FactorView<T>{symbolic, tree, factor_}, block);
  }

  void save(const Symbolic& symbolic, const AssemblyTree& tree,
            SectionWriter& file) const override {
    need_factor(symbolic);
    save_factor<T>({symbolic, tree, factor_}, file, not_whole());
    save_parts({symbolic, tree, factor_}, file);
  }

  void load(const Symbolic& symbolic, const AssemblyTree& tree,
            SectionReader& file) override {
    repeated_.reset();
    factor_ = load_factor<T>(symbolic, tree, file, not_whole());
    load_parts(symbolic, tree, file, factor_);
  }

  Bytes factor_workspace_bytes(const FactorInput& input, FactorKind kind,
                               std::int32_t workers) const override {
    return workspace_bytes<T>(input, kind, workers);
  }
  Bytes solve_workspace_bytes(const FactorInput& input, FactorKind kind,
                              std::int32_t workers, std::int32_t nrhs, bool blocks,
                              const FrontDistribution* distribution) const override {
    return checked_add(
        substitution_bytes(input, workers, nrhs, distribution),
        blocks ? BlockSubstitution<T>::footprint(input.symbolic, input.tree, nrhs,
                                                 distribution != nullptr)
               : SolveVectors<T>::bytes(input.symbolic.size, kind, nrhs));
  }
  Bytes entry_bytes() const override { return sizeof(T); }
  std::int32_t parts() const override { return kParts<T>; }
  double epsilon() const override { return std::numeric_limits<RealOf<T>>::epsilon(); }

 protected:
  // What differs where several processes work together.
  [[nodiscard]] virtual tl::expected<Factor<T>, NotPositiveDefinite> compute(
      const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
      FactorReport& report, const std::function<void(double)>& progress) {
    return solver::factorise<T>(input, runtime, plan, report, progress);
  }
  virtual void open(const FactorView<T>& view, const Runtime& runtime, std::int32_t nrhs,
                    Bytes read_limit) {
    solve_.emplace(view, runtime, nrhs, read_limit);
  }
  virtual void apply(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                     std::span<const std::int32_t> rows,
                     const std::function<void()>& ask) {
    solve_->solve(transposed, b, x, rows, ask);
  }
  virtual void close() { solve_.reset(); }
  // Who solves with blocks, between open() and close().
  [[nodiscard]] virtual BlockTeam<T> block_team(const Runtime& runtime) {
    return {.solve_nodes = [this, &runtime](IndexRange nodes, bool /*shared*/,
                                            bool transposed, const Vectors<T>& b,
                                            const Vectors<T>& x,
                                            const std::function<void()>& ask) {
      const Awake awake(runtime);
      solve_->solve(transposed, b, x, {}, ask, nodes);
    }};
  }
  [[nodiscard]] virtual Determinant pivot_product(const FactorView<T>& view) const {
    return solver::determinant(view);
  }
  // Of each node whether its panels are not here, or not all of them; and what is. Empty:
  // all are whole.
  [[nodiscard]] virtual std::vector<std::int8_t> not_whole() const { return {}; }
  virtual void save_parts(const FactorView<T>& /*view*/, SectionWriter& /*file*/) const {}
  virtual void load_parts(const Symbolic& /*symbolic*/, const AssemblyTree& /*tree*/,
                          SectionReader& /*file*/, Factor<T>& /*factor*/) const {}
  [[nodiscard]] virtual Bytes substitution_bytes(
      const FactorInput& input, std::int32_t workers, std::int32_t nrhs,
      const FrontDistribution* /*distribution*/) const {
    return TreeSolve<T>::footprint(input.symbolic, input.tree, workers, nrhs);
  }

 private:
  // The last factor's pages serve this one. From the second on, which says that there may
  // be a third, others wait for the next, too, where they may.
  [[nodiscard]] tl::expected<Factor<T>, NotPositiveDefinite> compute_in_pool(
      FactorInput& input, const Runtime* runtime, const espalier_plan* plan,
      FactorReport& report, const std::function<void(double)>& progress) {
    const bool keeps = pool_ != nullptr && input.keeps_pages;
    if (!pool_) pool_ = std::make_unique<PagePool>(input.pool_limit, input.resident);
    if (keeps) pool_->raise_limit(limit_with_panels(input));
    input.pool = pool_.get();
    auto factor = runtime != nullptr ? compute(input, *runtime, plan, report, progress)
                                     : compute_here(input, report, progress);
    if (!keeps) pool_->keep_at_most(0);
    return factor;
  }

  // Panels are all there from the first front on, beside what contribution blocks have:
  // that is some more than what was planned, and whole huge pages want room.
  [[nodiscard]] static Bytes limit_with_panels(const FactorInput& input) {
    constexpr Bytes kPart = 4;
    Bytes limit = input.pool_limit;
    for (const AssemblyTree::Node& node : input.tree.nodes)
      limit = checked_add(limit, node.factor_bytes / kPart);
    return limit;
  }

  // From the second factorisation on, which says that there may be a third. Unbounded and
  // alone: nobody counts what the method has beside the factor.
  [[nodiscard]] bool may_repeat(const FactorInput& input) const {
    if (!input.keeps_pages || input.resident != nullptr || input.low_rank.tolerance != 0)
      return false;
    if (repeated_) return input.tree.kind == FactorKind::kCholesky;
    return factor_.storage.size() == 1 &&
           RepeatedCholesky::suits(input.symbolic, input.tree);
  }

  [[nodiscard]] tl::expected<FactorReport, NotPositiveDefinite> repeat(
      const FactorInput& input, const std::function<void(double)>& progress) {
    const bool timed = !is_too_short_to_time(input.symbolic);
    const Clock::time_point start = timed ? Clock::now() : Clock::time_point();
    if (progress) progress(0);
    const SymmetricMatrix& a = input.permuted.lower;
    if (!repeated_) {
      release_factor();
      RepeatedCholesky method(input.symbolic, input.tree, a);
      factor_ = method.make_factor(input.symbolic, input.tree);
      repeated_ = std::move(method);
    }
    std::optional<OneBlasThread> one_thread;
    if (repeated_->calls_blas()) one_thread.emplace();
    const auto outcome = repeated_->factorise(a, input.pivoting.least_part, factor_);
    if (outcome.failed) {
      release_factor();
      return tl::make_unexpected(*outcome.failed);
    }
    if (progress) progress(1);
    FactorReport report;
    if (timed) report.seconds = since(start);
    report.allocated_peak = factor_.storage[0].size();
    report.tasks = 1;
    report.pivots.smallest = outcome.smallest;
    return report;
  }

  // Without a runtime.
  void solve_here(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
                  const std::function<void()>& ask) const {
    if (pieces_ != nullptr && worth_a_team(*pieces_, b.count))
      return solve_in_threads(*view_, *pieces_, transposed, b, x, ask);
    solve_sequentially(*view_, transposed, b, x, ask);
  }

  static void conjugate_parts(std::span<double> block) {
    for (std::size_t k = 1; k < block.size(); k += 2) block[k] = -block[k];
  }

  // Nodes in their own order: children first. Their one allocation after the other needs
  // no plan.
  static tl::expected<Factor<T>, NotPositiveDefinite> compute_here(
      const FactorInput& input, FactorReport& report,
      const std::function<void(double)>& progress) {
    std::vector<TaskId> order(input.tree.nodes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = task_id(i);
    const OneBlasThread one_thread;
    if (progress) progress(0);
    return factorise_sequentially<T>(input, order, report, progress);
  }

  void need_factor(const Symbolic& symbolic) const {
    if (factor_.offset.size() != symbolic.parent.size())
      throw InvalidInput("nothing has been factored under this plan");
  }

  std::unique_ptr<PagePool> pool_;  // of the factor's pages; null: of none
  Factor<T> factor_;
  std::optional<RepeatedCholesky> repeated_;  // that the factor is of, where it may be
  std::optional<FactorView<T>> view_;         // while solves are open
  const Runtime* runtime_ = nullptr;          // while they are; null: without one
  const NodePieces* pieces_ = nullptr;        // then, for threads; null: in this thread
  std::optional<BlockSubstitution<T>> blocks_;
  std::optional<TreeSolve<T>> solve_;
  SolveVectors<T> vectors_;
};

/// A TypedNumeric, or what is made of one, of the numbers that a matrix is factored in.
/// @param complex  none: it is real
template <template <class> class Typed, class... Arguments>
std::unique_ptr<Numeric> make_numeric(Precision precision,
                                      std::optional<ComplexSymmetry> complex,
                                      const Arguments&... arguments) {
  const auto make = [&]<class Real>(Real) -> std::unique_ptr<Numeric> {
    if (!complex) return std::make_unique<Typed<Real>>(arguments...);
    if (*complex == ComplexSymmetry::kHermitian)
      return std::make_unique<Typed<HermitianEntry<Real>>>(arguments...);
    return std::make_unique<Typed<std::complex<Real>>>(arguments...);
  };
  return precision == Precision::kSingle ? make(float()) : make(double());
}

}  // namespace espalier::solver
