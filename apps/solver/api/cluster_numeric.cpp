#include "solver/api/cluster_numeric.h"

#include <exception>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "solver/api/typed_numeric.h"
#include "solver/distributed/cluster_determinant.h"
#include "solver/distributed/cluster_nodes.h"
#include "solver/distributed/cluster_solve.h"
#include "solver/distributed/own_panels.h"

namespace espalier::solver {
namespace {

Bytes total(const ByteRanges& ranges) {
  Bytes sum = 0;
  for (const auto& [begin, end] : ranges) sum += end - begin;
  return sum;
}

template <class T>
class ClusterNumeric : public TypedNumeric<T> {
 public:
  explicit ClusterNumeric(const ClusterSite& site)
      : site_(site), nodes_(site.communicator, site.channel, site.distribution) {}

 protected:
  tl::expected<Factor<T>, NotPositiveDefinite> compute(
      const FactorInput& input, const Runtime& runtime, const espalier_plan* plan,
      FactorReport& report, const std::function<void(double)>& progress) override {
    std::exception_ptr ended;  // by the progress function
    std::function<void(double)> asked;
    if (progress)
      asked = [&](double done) {
        try {
          progress(done);
        } catch (...) {
          ended = std::current_exception();
          throw;
        }
      };
    auto factor = solver::factorise<T>(input, runtime, plan, report, asked, &nodes_);
    end_together(site_.communicator, ended);
    // Nobody asks for anything of this factorisation after this; nobody begins the next
    // one before.
    constexpr std::int64_t kNone = std::numeric_limits<std::int32_t>::max();
    const std::int64_t failed =
        site_.communicator.smallest(factor ? kNone : factor.error().column);
    if (failed < kNone)
      return tl::make_unexpected(NotPositiveDefinite{static_cast<std::int32_t>(failed)});
    PivotStatistics& pivots = report.pivots;
    for (std::int64_t* count :
         {&pivots.delayed, &pivots.perturbed, &pivots.null_space, &pivots.negative,
          &pivots.two_by_two, &pivots.not_delayed})
      *count = site_.communicator.sum(*count);
    pivots.smallest = -site_.communicator.largest(-pivots.smallest);
    report.seconds = site_.communicator.largest(report.seconds);
    return factor;
  }

  void open(const FactorView<T>& view, const Runtime& runtime, std::int32_t nrhs,
            Bytes read_limit) override {
    solve_.emplace(view, site_.distribution, site_.communicator, runtime, nrhs,
                   read_limit);
  }
  void apply(bool transposed, const Vectors<T>& b, const Vectors<T>& x,
             std::span<const std::int32_t> /*rows*/,
             const std::function<void()>& /*ask*/) override {
    solve_->solve(transposed, b, x);
  }
  void close() override { solve_.reset(); }
  BlockTeam<T> block_team(const Runtime& runtime) override {
    const FrontDistribution& distribution = site_.distribution;
    std::vector<std::int32_t> owner;
    for (std::int32_t node = 0; node < std::ssize(distribution.group); ++node)
      owner.push_back(distribution.shared(node) ? BlockForm::kShared
                                                : distribution.group[node].first);
    return {.solve_nodes =
                [this, &runtime](IndexRange nodes, bool shared, bool transposed,
                                 const Vectors<T>& b, const Vectors<T>& x,
                                 const std::function<void()>& /*ask*/) {
                  const Awake awake(runtime);
                  if (shared)
                    solve_->solve(transposed, b, x, nodes);
                  else
                    solve_->solve_local(transposed, b, x, nodes);
                },
            .owner = std::move(owner),
            .process = site_.communicator.rank(),
            .broadcast =
                [this](std::span<double> numbers, std::int32_t from) {
                  site_.communicator.broadcast(std::as_writable_bytes(numbers), from);
                }};
  }
  Determinant pivot_product(const FactorView<T>& view) const override {
    return solver::determinant(view, site_.distribution, site_.communicator);
  }

  std::vector<std::int8_t> not_whole() const override {
    const FrontDistribution& distribution = site_.distribution;
    std::vector<std::int8_t> nodes;
    for (std::int32_t node = 0; node < std::ssize(distribution.group); ++node)
      nodes.push_back(distribution.shared(node) || !takes_part(node) ? 1 : 0);
    return nodes;
  }

  // Block column by block column, side after side.
  void save_parts(const FactorView<T>& view, SectionWriter& file) const override {
    for_each_shared(view, [&](std::int32_t node, const ByteRanges& blocks) {
      const OwnPanels<T> panels(view, site_.distribution, node,
                                site_.communicator.rank());
      for (const auto& [begin, end] : blocks)
        file.put("block",
                 std::span<const T>(panels.data() + begin / kBytes,
                                    static_cast<std::size_t>(end - begin) / sizeof(T)));
    });
  }
  void load_parts(const Symbolic& symbolic, const AssemblyTree& tree, SectionReader& file,
                  Factor<T>& factor) const override {
    note_strips(symbolic, tree, site_.distribution, factor);
    for_each_shared(
        {symbolic, tree, factor}, [&](std::int32_t node, const ByteRanges& blocks) {
          if (total(blocks) > file.bytes_left()) file.fail("ends inside a shared front");
          const std::int32_t front = tree.nodes[node].last_front;
          const std::int32_t delayed = factor.delayed_in(front);
          PageBuffer& panel =
              delayed > 0 ? factor.delays_of(front)->panel : factor.storage[node];
          panel = storage_of(symbolic, tree, node,
                             own_panel_pages(symbolic, tree, site_.distribution, node,
                                             site_.communicator.rank(), delayed),
                             delayed);
          for (const auto& [begin, end] : blocks)
            file.take<T>("block",
                         std::span(panel.template as<T>() + begin / kBytes,
                                   static_cast<std::size_t>(end - begin) / sizeof(T)));
        });
  }
  Bytes substitution_bytes(const FactorInput& input, std::int32_t workers,
                           std::int32_t nrhs,
                           const FrontDistribution* distribution) const override {
    return ClusterSolve<T>::footprint(input.symbolic, input.tree, *distribution,
                                      site_.communicator.rank(), workers, nrhs);
  }

 private:
  static constexpr auto kBytes = static_cast<Bytes>(sizeof(T));

  [[nodiscard]] bool takes_part(std::int32_t node) const {
    return site_.distribution.takes_part(node, site_.communicator.rank());
  }
  // Calls part(node, bytes of its storage that are here).
  template <class Part>
  void for_each_shared(const FactorView<T>& view, const Part& part) const {
    for (std::int32_t node = 0; node < std::ssize(view.tree.nodes); ++node)
      if (site_.distribution.shared(node) && takes_part(node))
        part(node,
             own_panel_bytes(view.symbolic, view.tree, site_.distribution, node,
                             site_.communicator.rank(),
                             view.factor.delayed_in(view.tree.nodes[node].last_front)));
  }

  ClusterSite site_;
  ClusterNodes<T> nodes_;
  std::optional<ClusterSolve<T>> solve_;
};

}  // namespace

std::unique_ptr<Numeric> make_cluster_numeric(Precision precision,
                                              std::optional<ComplexSymmetry> complex,
                                              const ClusterSite& site) {
  return make_numeric<ClusterNumeric>(precision, complex, site);
}

}  // namespace espalier::solver
