#include "solver/distributed/cluster_numeric.h"

#include <limits>
#include <optional>

#include "solver/api/numeric_of.h"
#include "solver/distributed/cluster_nodes.h"
#include "solver/distributed/cluster_solve.h"

namespace espalier::solver {
namespace {

template <class T>
class ClusterNumeric : public NumericOf<T> {
 public:
  explicit ClusterNumeric(const ClusterSite& site)
      : site_(site), nodes_(site.communicator, site.transport, site.shares) {}

  void save(const Symbolic&, const AssemblyTree&, SectionWriter&) const override {
    throw InvalidInput("a factor that is spread over processes cannot be saved");
  }

  Determinant determinant(const Symbolic&, const AssemblyTree&) const override {
    throw InvalidInput("a determinant: not on several processes");
  }

 protected:
  tl::expected<Factor<T>, BadPivot> compute(
      const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
      FactorReport& report, const std::function<void(double)>& progress) override {
    auto factor = solver::factorise<T>(input, runtime, plan, report, progress, &nodes_);
    // Nobody asks for anything of this factorisation after this; nobody begins the next
    // one before.
    constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();
    const std::int64_t failed =
        site_.communicator.smallest(factor ? kNone : factor.error().column);
    if (failed < kNone)
      return tl::make_unexpected(BadPivot{static_cast<std::int32_t>(failed)});
    PivotStatistics& pivots = report.pivots;
    for (std::int64_t* count : {&pivots.delayed, &pivots.perturbed, &pivots.null_space,
                                &pivots.negative, &pivots.two_by_two})
      *count = site_.communicator.sum(*count);
    pivots.smallest = -site_.communicator.largest(-pivots.smallest);
    report.seconds = site_.communicator.largest(report.seconds);
    return factor;
  }

  void open(const FactorView<T>& view, const Runtime& runtime, std::int32_t columns,
            Bytes read_limit) override {
    solve_.emplace(view, site_.shares, site_.communicator, runtime, columns, read_limit);
  }
  void apply(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
             std::span<const std::int32_t> /*rows*/) override {
    solve_->solve(transposed, b, x);
  }
  void close() override { solve_.reset(); }
  Bytes substitution_bytes(const FactorInput& input, std::int32_t workers,
                           std::int32_t columns) const override {
    return ClusterSolve<T>::footprint(input.symbolic, input.tree, site_.shares,
                                      site_.communicator.rank(), workers, columns);
  }

 private:
  ClusterSite site_;
  ClusterNodes<T> nodes_;
  std::optional<ClusterSolve<T>> solve_;
};

}  // namespace

std::unique_ptr<Numeric> make_cluster_numeric(Precision precision,
                                              const ClusterSite& site) {
  if (precision == Precision::kSingle)
    return std::make_unique<ClusterNumeric<float>>(site);
  return std::make_unique<ClusterNumeric<double>>(site);
}

}  // namespace espalier::solver
