// Systems in block triangular form have the bits of one process on those of a job:
// solutions, of the transposed system and of several right-hand sides, before and after
// new values, from files, without a bound and inside the least, in and out of core; and
// where a singular block makes them one. usage: (real | complex | single). mpirun starts
// it. What does not hold ends the job.

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/bits.h"
#include "solver/distributed/coupled_blocks.h"
#include "solver/distributed/job_program.h"

namespace espalier::solver {

using namespace cli;
namespace {

struct Case {
  std::string name;
  SystemKind kind;
  std::function<AnyMatrix()> system;
  bool joined = false;  ///< a block is singular
};

/// Results with a name, in their order.
using Results = std::vector<std::pair<std::string, std::vector<double>>>;

// Other values on the same pattern.
AnyMatrix other_values(AnyMatrix matrix) {
  const auto change = [](auto& a) {
    for (std::size_t k = 0; k < a.value.size(); ++k)
      if (k % 3 == 0) a.value[k] *= 1.125;
  };
  if (auto* real = std::get_if<InputMatrix>(&matrix))
    std::visit(change, *real);
  else
    change(std::get<ComplexMatrix>(matrix));
  return matrix;
}

class Blocks {
 public:
  Blocks(Cluster& cluster, std::string folder)
      : cluster_(cluster), folder_(std::move(folder)) {}

  void check(const Case& of, Precision precision) {
    SolverOptions options;
    options.kind = of.kind.factor;
    options.precision = precision;
    options.runtime_flops = 0;
    options.delay_reserve = Bytes{32} << 20;
    options.analysis.ordering = OrderingKind::kMetis;
    Results alone, refined;
    if (cluster_.rank() == 0) {
      const auto make = [&](const SolverOptions& mine) {
        return solver_of(of.system(), mine);
      };
      alone = results(of, options, make, {.together = false});
      refined = results(of, options, make, {.refine = true, .together = false});
      options.runtime_flops = 1e18;
      compare(of.name + ", by the calling thread", alone,
              results(of, options, make, {.together = false}));
      options.runtime_flops = 0;
    }
    cluster_.barrier();
    const auto make = [&](const SolverOptions& mine) {
      return solver_on(cluster_, of.kind, of.system, mine);
    };
    compare(of.name, alone, results(of, options, make, {}));
    compare(of.name + ", refined", refined, results(of, options, make, {.refine = true}));
    if (of.joined) return;  // which needs more than the least
    compare(of.name + ", least", alone, results(of, options, make, {.least = true}));
    options.out_of_core = folder_;
    compare(of.name + ", out of core", alone,
            results(of, options, make, {.least = true}));
  }

  /// That the cases were what they are meant to be.
  /// @param writes  panels go to the file in the least bound of some
  void finish(bool writes) {
    expect(shared_ > 0 || cluster_.size() == 1, "no node was shared");
    expect(!writes || cluster_.sum(written_) > 0, "nothing was written");
  }

 private:
  struct Way {
    bool refine = false;
    bool least = false;  ///< in the least bound
    bool together = true;
  };
  template <class Make>
  Results results(const Case& of, SolverOptions options, const Make& make,
                  const Way& way) {
    options.refine = way.refine;
    options.no_residual = !way.refine;
    const std::unique_ptr<Solver> solver = make(options);
    expect(!solver->analysis().form.empty(), of.name + ": is not in block form");
    Results found;
    found.emplace_back("pivots", counts_of(factorise(*solver, options, way)));
    expect(of.joined == solver->analysis().form.empty(), of.name + ": joined");
    found.emplace_back("plain", solution(*solver, 1, Operation::kPlain));
    found.emplace_back("transposed", solution(*solver, 1, Operation::kTransposed));
    if (of.joined || way.refine) return found;
    replace(*solver, other_values(of.system()));
    found.emplace_back("pivots", counts_of(factorise(*solver, options, way)));
    found.emplace_back("other values", solution(*solver, 1, Operation::kPlain));
    take_from_file(*solver, options, way, found);
    // Of which a bound may have room for fewer at once.
    if (!way.least)
      found.emplace_back("three", solution(*solver, 3, Operation::kTransposed));
    return found;
  }

  static std::vector<double> counts_of(const PivotStatistics& pivots) {
    std::vector<double> counts;
    for (const std::int64_t count : {pivots.negative, pivots.delayed, pivots.two_by_two,
                                     pivots.perturbed, pivots.not_delayed})
      counts.push_back(static_cast<double>(count));
    return counts;
  }
  PivotStatistics factorise(Solver& solver, const SolverOptions& options,
                            const Way& way) {
    const bool spills = !options.out_of_core.empty();
    const Bytes bound = spills ? solver.least_out_of_core() : solver.least();
    const auto planned = solver.plan(way.least ? std::optional(bound) : std::nullopt);
    if (!planned) throw Error(planned.error().message());
    const auto report = solver.factorise();
    if (!report) throw Error("no factorisation");
    shared_ += solver.process_facts().shared_nodes;
    written_ += solver.spilled().bytes_written;
    return report->pivots;
  }

  void take_from_file(Solver& solver, const SolverOptions& options, const Way& way,
                      Results& found) {
    const std::string path = folder_ + (way.together ? "/together" : "/alone");
    solver.save(path);
    const auto loaded = way.together ? Solver::load(cluster_, path, options)
                                     : Solver::load(path, options);
    found.emplace_back("from a file", solution(*loaded, 1, Operation::kPlain));
  }

  static std::vector<double> solution(Solver& solver, std::int32_t nrhs,
                                      Operation operation) {
    const std::vector<double> one = solver.apply_to_ones(operation);
    std::vector<double> x;
    for (std::int32_t v = 0; v < nrhs; ++v)
      for (const double each : one) x.push_back(each * (1 + 0.25 * v));
    (void)solver.solve(x, nrhs, operation);
    return x;
  }

  void expect(bool holds, const std::string& what) {
    if (!holds) cluster_.fail(3, what);
  }
  void compare(const std::string& where, const Results& alone, const Results& found) {
    if (cluster_.rank() > 0) return;
    expect(!found.empty() && alone.size() >= found.size(), where + ": so many results");
    for (std::size_t k = 0; k < found.size(); ++k) {
      const auto& [name, a] = alone[k];
      const std::vector<double>& b = found[k].second;
      expect(name == found[k].first && a.size() == b.size(), where + ": " + name);
      const std::string others = other_bits(a, b);
      expect(others.empty(), fmt::format("{}, {}: {}", where, name, others));
    }
  }

  Cluster& cluster_;
  std::string folder_;
  std::int64_t shared_ = 0;
  Bytes written_ = 0;
};

GeneralMatrix general() { return coupled_blocks({15, 6, 13}, 120); }

void check_complex(Blocks& blocks) {
  blocks.check({"complex, general",
                {FactorKind::kLu, ComplexSymmetry::kGeneral},
                [] { return turned(general(), ComplexSymmetry::kGeneral); }},
               Precision::kDouble);
  blocks.check({"complex, symmetric",
                {FactorKind::kLdlt, ComplexSymmetry::kSymmetric},
                [] { return turned(coupled_pairs(13), ComplexSymmetry::kSymmetric); }},
               Precision::kDouble);
}

void check_real(Blocks& blocks, Precision precision) {
  blocks.check({"general", {FactorKind::kLu}, [] { return InputMatrix(general()); }},
               precision);
  blocks.check(
      {"symmetric", {FactorKind::kLdlt}, [] { return InputMatrix(coupled_pairs(16)); }},
      precision);
}

void run(Cluster& cluster, const std::string& what) {
  in_folder_of_job(cluster, [&](const std::string& folder) {
    Blocks blocks(cluster, folder);
    if (what == "complex")
      check_complex(blocks);
    else
      check_real(blocks, what == "single" ? Precision::kSingle : Precision::kDouble);
    if (what == "real")
      blocks.check({"singular",
                    {FactorKind::kLu},
                    [] {
                      return InputMatrix(coupled_blocks({6, 5}, 30, true));
                    },
                    true},
                   Precision::kDouble);
    blocks.finish(what == "real" && cluster.size() <= 3);
  });
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=blocks\n",
      [&](auto& cluster) { espalier::solver::run(cluster, argc > 1 ? argv[1] : "real"); },
      "blocks");
}
