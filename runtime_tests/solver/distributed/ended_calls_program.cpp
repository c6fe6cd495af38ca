// Calls of a solver on the processes of a job that the progress function of one of them
// ends: at all of them, and they can be made again. usage: [grids [SIDE]]. mpirun starts
// it. What does not hold ends the job with a message.

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/bits.h"
#include "solver/distributed/job_program.h"
#include "solver/distributed/whole_systems.h"

namespace espalier::solver {

using namespace cli;
namespace {

/// Not an exception of the standard library.
struct Enough {};

using Progress = std::function<void(double)>;

class EndedCalls {
 public:
  EndedCalls(Cluster& cluster, FactorKind kind, FrontGrids grids, int side,
             std::string path)
      : cluster_(cluster), kind_(kind), side_(side), path_(std::move(path)) {
    options_.front_grids = grids;
    options_.kind = kind;
    options_.workers = 1;
    options_.pivot_threshold = 0.1;
    options_.delay_reserve = Bytes{64} << 20;
    options_.prepare.scaling = PrepareOptions::Scaling::kNone;
  }

  void end_all() {
    end_analyses();
    solver_ = made(options_);
    expect(solver_->plan(std::nullopt).has_value(), "a plan");
    expect(solver_->factorise().has_value(), "a factorisation");
    const PivotStatistics pivots = solver_->factorise()->pivots;
    if (kind_ != FactorKind::kCholesky) expect(pivots.delayed > 100, "delayed pivots");
    expect(options_.front_grids == FrontGrids::kNever ||
               solver_->process_facts().grid_nodes > 0,
           "a node in tiles over a grid");
    const std::vector<double> first = solution({});
    end_factorisations(first, pivots);
    end_solves(first);
    end_files(first);
  }

 private:
  // Matrices whose pivots are delayed into fronts that processes share.
  [[nodiscard]] InputMatrix system() const {
    if (kind_ == FactorKind::kCholesky) return system_of(kind_, side_);
    const SymmetricMatrix matrix = saddle_point(side_);
    if (kind_ == FactorKind::kLdlt) return matrix;
    return on_both_sides(matrix);
  }
  [[nodiscard]] std::unique_ptr<Solver> made(const SolverOptions& options) {
    std::optional<InputMatrix> matrix;
    if (cluster_.rank() == 0) matrix = system();
    return std::make_unique<Solver>(cluster_, std::move(matrix), options);
  }

  // By process 0, which analyses.
  void end_analyses() {
    SolverOptions options = options_;
    int calls = 0, last = 0;
    options.analysis.interrupt = [&] {
      if (++calls == last) throw Enough();
    };
    (void)made(options);
    const std::int64_t asked = cluster_.largest(std::int64_t{calls});
    expect(asked > 2, "questions");
    for (const std::int64_t at : {std::int64_t{1}, asked / 2, asked}) {
      calls = 0;
      last = cluster_.rank() == 0 ? static_cast<int>(at) : 0;
      expect_ended([&] { (void)made(options); }, 0);
    }
  }

  // At each of these questions, and when its part is done, by the first and by the last
  // process. One that has no more work is not asked again: there are two questions at
  // least.
  void end_factorisations(const std::vector<double>& first,
                          const PivotStatistics& pivots) {
    constexpr int kLast = 0;
    for (const std::int32_t process : {0, cluster_.size() - 1})
      for (const int at : {1, 2, 4, kLast}) {
        int calls = 0;
        const Progress progress = [&, process](double done) {
          if (cluster_.rank() != process) return;
          if (at == kLast ? done == 1 : ++calls == at) throw Enough();
        };
        if (at == 4)
          (void)ends([&] { (void)solver_->factorise(progress); });
        else
          expect_ended([&] { (void)solver_->factorise(progress); }, process);
      }
    const PivotStatistics again = solver_->factorise()->pivots;
    expect(again.delayed == pivots.delayed && again.negative == pivots.negative,
           "the same pivots again");
    expect(same(solution({}), first), "the same bits after a factorisation was ended");
  }

  void end_solves(const std::vector<double>& first) {
    std::int64_t calls = 0, last = 0;
    const Progress progress = [&](double) {
      if (++calls == last) throw Enough();
    };
    // By one that has a function, where the others have none.
    const std::int32_t process = cluster_.size() - 1;
    const Progress mine = cluster_.rank() == process ? progress : Progress();
    expect(same(solution(mine), first), "the same bits for one that is asked");
    const std::int64_t asked = cluster_.largest(calls);
    expect(asked > 0, "questions");
    for (std::int64_t at = 1; at <= asked; ++at) {
      calls = 0;
      last = at;
      expect_ended([&] { (void)solution(mine); }, process);
    }
    expect(same(solution({}), first), "the same bits after a solve was ended");
  }

  void end_files(const std::vector<double>& first) {
    solver_->save(path_);
    const std::string before = content();
    const std::int32_t process = cluster_.size() - 1;
    int calls = 0;
    const Progress progress = [&](double) {
      if (cluster_.rank() == process && ++calls == 2) throw Enough();
    };
    expect_ended([&] { solver_->save(path_, progress); }, process);
    expect(content() == before, "the file that there was");
    calls = 0;
    expect_ended([&] { (void)Solver::load(cluster_, path_, options_, progress); },
                 process);
    solver_ = Solver::load(cluster_, path_, options_, [](double) {});
    expect(same(solution({}), first), "the same bits of what is loaded");
  }

  std::vector<double> solution(const Progress& progress) {
    std::vector<double> x = solver_->apply_to_ones();
    (void)solver_->solve(x, 1, Operation::kPlain, {}, progress);
    return x;
  }

  // Whether the call ends at this process by Enough or by Cancelled, the same at all.
  bool ends(const std::function<void()>& call) {
    int how = 0;
    try {
      call();
    } catch (const Enough&) {
      how = 1;
    } catch (const Cancelled&) {
      how = 2;
    }
    expect(cluster_.smallest(std::int64_t{how > 0}) ==
               cluster_.largest(std::int64_t{how > 0}),
           "an end at all or at none");
    mine_ = how == 1;
    return how > 0;
  }
  void expect_ended(const std::function<void()>& call, std::int32_t process) {
    expect(ends(call), "an end");
    expect(mine_ == (cluster_.rank() == process), "the exception at its process");
  }

  [[nodiscard]] std::string content() const {
    const std::string part =
        cluster_.rank() == 0 ? path_ : fmt::format("{}.{}", path_, cluster_.rank());
    std::ifstream in(part, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  void expect(bool holds, const char* what) {
    if (!holds)
      cluster_.fail(3, fmt::format("kind {}, process {}: does not hold: {}", int(kind_),
                                   cluster_.rank(), what));
  }

  Cluster& cluster_;
  FactorKind kind_;
  int side_;
  std::string path_;
  SolverOptions options_;
  std::unique_ptr<Solver> solver_;
  bool mine_ = false;
};

void run_ended_calls(Cluster& cluster, FrontGrids grids, int side) {
  in_folder_of_job(cluster, [&](const std::string& folder) {
    for (const FactorKind kind :
         {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu})
      EndedCalls(cluster, kind, grids, side, folder + "/factor").end_all();
  });
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  return espalier::solver::run_job_program(
      argc, argv, "test=ended calls\n",
      [&](auto& cluster) {
        using espalier::solver::FrontGrids;
        const bool grids = argc > 1;
        const int side = argc > 2 ? std::atoi(argv[2]) : grids ? 28 : 18;
        espalier::solver::run_ended_calls(
            cluster, grids ? FrontGrids::kAlways : FrontGrids::kNever, side);
      },
      "ended");
}
