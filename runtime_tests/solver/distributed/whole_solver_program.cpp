// One solver on the processes of a job, of every kind: planned again, saved and loaded,
// out of core. usage: [grids_]SUITE [(real | complex) [SIDE [KIND]]], KIND from 1 on: one
// of its kinds. mpirun starts it. What does not hold ends the job with a message.
//
// One program, a suite for each thing that processes do together: over 300 lines.

#include <fmt/format.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <variant>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/bits.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/job_program.h"
#include "solver/distributed/mpi_communicator.h"
#include "solver/distributed/whole_systems.h"
#include "solver/matrix/check_matrix.h"
#include "solver/matrix/grid.h"
#include "solver/memory/budget.h"
#include "solver/memory/process_account.h"
#include "solver/memory/process_memory.h"
#include "solver/runtime/runtime.h"

namespace espalier::solver {

using namespace cli;
namespace {

void multiply_by(AnyMatrix& any, double factor) {
  const auto multiply = [factor](auto& matrix) {
    for (auto& value : matrix.value) value *= factor;
  };
  if (auto* real = std::get_if<InputMatrix>(&any))
    std::visit(multiply, *real);
  else
    multiply(std::get<ComplexMatrix>(any));
}

// As it was given.
Bytes bytes_to_analyse(const AnyMatrix& any) {
  if (const auto* complex = std::get_if<ComplexMatrix>(&any))
    return analysis_bytes(complex->size, std::ssize(complex->row));
  const MatrixView view = view_of(std::get<InputMatrix>(any));
  return analysis_bytes(view.order, std::ssize(view.rows));
}

class Cases {
 public:
  Cases(Cluster& cluster, const SystemKind& kind, int side, std::string folder)
      : cluster_(cluster),
        kind_(kind),
        side_(side),
        path_(std::move(folder) + "/factor") {
    options_.kind = kind.factor;
    options_.workers = 2;
    options_.pivot_threshold = 0.1;
    options_.delay_reserve = Bytes{16} << 20;
    options_.prepare.scaling = PrepareOptions::Scaling::kNone;
  }

  void takes_grids() { options_.front_grids = FrontGrids::kAlways; }

  void plans_again() {
    const std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> first = solved(*solver, solver->least());
    expect_shared(*solver);
    if (kind_.factor == FactorKind::kLdlt) expect(pivots_.delayed > 0, "delayed pivots");
    (void)solved(*solver, 2 * solver->least());
    (void)solved(*solver, std::nullopt);
    expect(same(first, solved(*solver, solver->least())), "the same bits again");
    const auto refused = solver->plan(Bytes{1} << 20);
    expect(!refused && refused.error().least_bytes == solver->least(),
           "a bound that is refused, with the least");
    std::vector<double> x = solver->apply_to_ones();
    (void)solver->solve(x);
    expect(same(first, x), "the factor is still there after a refusal");

    // Exactly the same arithmetic: pivots and right-hand sides are four times as large.
    AnyMatrix matrix = system();
    multiply_by(matrix, 4);
    replace(*solver, std::move(matrix));
    expect(same(first, solved(*solver, solver->least())), "other values, planned again");
  }

  void replaces_values_before_the_first_plan() {
    AnyMatrix matrix = system();
    multiply_by(matrix, 4);
    std::unique_ptr<Solver> solver = made(options_);
    const Bytes bound = 2 * solver->least();
    const std::vector<double> first = solved(*solver, bound);
    solver.reset();
    solver = made(options_);
    replace(*solver, std::move(matrix));
    expect(same(first, solved(*solver, bound)), "values that came before the plan");
  }

  // Many columns come to fronts that processes share. Nothing is perturbed, and pivots
  // have the signs that one process finds.
  void delays_columns_as_one_process() {
    if (kind_.factor == FactorKind::kCholesky) return;
    saddle_ = true;
    options_.delay_reserve = ample_reserve();
    PivotStatistics alone;
    if (cluster_.rank() == 0) {
      const std::unique_ptr<Solver> solver = solver_of(system(), options_);
      expect_here(solver->plan(std::nullopt).has_value(), "a plan");
      alone = solver->factorise()->pivots;
      expect_here(alone.delayed > 100 && alone.perturbed == 0,
                  fmt::format("{} columns delayed, {} pivots perturbed alone",
                              alone.delayed, alone.perturbed));
    }
    cluster_.barrier();
    std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> first = solved(*solver, solver->least());
    expect_shared(*solver);
    expect_pivots(alone);
    expect(same(first, solved(*solver, solver->least())), "the same bits again");
    solver->save(path_);
    solver.reset();
    solver = Solver::load(cluster_, path_, options_);
    std::vector<double> x = solver->apply_to_ones();
    (void)solver->solve(x);
    expect(same(first, x), "the same bits from the saved factor");
    solver.reset();
    SolverOptions options = options_;
    options.out_of_core = std::filesystem::path(path_).parent_path();
    solver = made(options);
    (void)solved(*solver, tight(*solver));
    expect(cluster_.sum(solver->spilled().bytes_written) > 0, "bytes written");
    expect_pivots(alone);
    solver.reset();
    // Where nobody says how much is for them, a part of what a bound has.
    options = options_;
    options.delay_reserve.reset();
    solver = made(options);
    factored(*solver, solver->least());
    expect(pivots_.not_delayed > 0, "more are delayed than the least has room for");
    const Bytes much = solver->least() + 4 * ample_reserve();
    expect(same(first, solved(*solver, much)), "the same bits with room enough");
    expect_pivots(alone);
  }

  // Two at once, each over a communicator of its own: in turn, and from two threads.
  void shares_the_processes_with_another() {
    MpiCommunicator other(MPI_COMM_WORLD);
    const std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> expected = solved(*solver, std::nullopt);
    std::unique_ptr<Solver> second = made(other, options_);
    expect(second->plan(std::nullopt).has_value(), "a plan");
    expect(second->factorise().has_value(), "a second factor");
    expect(same(expected, solution_of(*second)), "the bits of the first solver");
    expect(same(expected, solved(*solver, std::nullopt)), "the first goes on");
    std::vector<double> found;
    std::thread thread([&] {
      if (second->factorise()) found = solution_of(*second);
    });
    const bool factored = solver->factorise().has_value();
    const std::vector<double> mine = solution_of(*solver);
    thread.join();
    expect(factored && same(expected, mine), "the same bits beside another");
    expect(same(expected, found), "the other's bits");
    second.reset();
    expect(same(expected, solved(*solver, std::nullopt)), "alone again");
  }

  // StarPU-MPI is there once in a process.
  void refuses_a_second_between_others() {
    const std::unique_ptr<Solver> solver = made(options_);
    MPI_Comm one = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, cluster_.rank() == 0 ? 1 : 0, 0, &one);
    MpiCommunicator some(one);
    bool refused = some.size() == 1;  // which needs no messages
    try {
      if (!refused) (void)some.open_channel({});
    } catch (const Error&) {
      refused = true;
    }
    expect(refused, "a channel between other processes is refused");
    MPI_Comm_free(&one);
  }

  // Each process has a budget of its own; with room enough all is as without.
  void keeps_to_a_budget() {
    std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> first = solved(*solver, std::nullopt);
    const Bytes inside = solver->memory().inside();
    solver.reset();
    const AnyMatrix matrix = system();
    const Bytes analysis = bytes_to_analyse(matrix) + start_bytes(options_.workers);
    SolverOptions options = options_;
    options.budget = Budget::create(Bytes{1} << 40);
    solver = made(options);
    expect(same(first, solved(*solver, std::nullopt)), "the bits of no budget");
    expect(solver->lease() != nullptr, "a lease");
    expect(options.budget->leased() == solver->lease()->bytes(), "the lease is counted");
    solver.reset();
    trim_heap();
    expect(reset_peak_resident(), "a peak that can be reset");
    options.budget = Budget::create(resident_bytes() + analysis + inside + kBeside);
    solver = made(options);
    refuses_where_one_has_no_room(options, *solver);
    (void)solved(*solver, std::nullopt);
    expect_in(*options.budget, *solver);
    solver.reset();
    expect(options.budget->leased() == 0, "all leases are given back");
    options.budget = Budget::create(
        cluster_.rank() == 0 ? Bytes{1} << 40 : resident_bytes() + (Bytes{1} << 20));
    expect_no_room([&] { (void)made(options); });
    expect(options.budget->leased() == 0, "no lease is left at any process");
    if (cluster_.rank() == 0) options.budget.reset();
    expect_refused([&] { (void)made(options); },
                   {"at some processes, and not at others"});
  }

  // Two at once, from two threads.
  void shares_a_budget_with_another() {
    MpiCommunicator other(MPI_COMM_WORLD);
    std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> expected = solved(*solver, solver->least());
    solver.reset();
    SolverOptions options = options_;
    options.lease_patience = std::chrono::seconds(200);
    options.budget = Budget::create(Bytes{1} << 40);
    solver = made(options);
    std::unique_ptr<Solver> second = made(other, options);
    const Bytes least = solver->least_for_plan(), other_least = second->least_for_plan();
    trim_heap();
    expect(reset_peak_resident(), "a peak that can be reset");
    const Bytes before = resident_bytes();
    std::vector<double> found;
    std::thread thread([&] {
      if (second->plan(other_least) && second->factorise()) found = solution_of(*second);
    });
    const bool factored = solver->plan(least) && solver->factorise();
    const std::vector<double> mine = solution_of(*solver);
    thread.join();
    expect(factored && same(expected, mine) && same(expected, found), "both are right");
    // All that each bound, which is the same at every process, leaves of this one.
    const Bytes both =
        least - solver->memory().baseline + other_least - second->memory().baseline;
    expect(options.budget->leased() == both,
           fmt::format("{} leased, {} for both", options.budget->leased(), both));
    expect(peak_resident_bytes() - before <= options.budget->leased() + kBeside,
           "what is resident is within the leases");
  }

  void loads_what_it_saved() {
    std::unique_ptr<Solver> solver = made(options_);
    const Bytes bound = 2 * solver->least();
    const std::vector<double> first = solved(*solver, bound);
    solver->save(path_);
    refuses_to_save(*solver);
    solver->save(path_ + "-b");
    const FactorKind kind = solver->kind();
    solver.reset();
    refuses_parts();
    SolverOptions plain = options_;
    plain.front_grids = FrontGrids::kNever;  // the file knows
    solver = Solver::load(cluster_, path_, plain);
    std::vector<double> x = solver->apply_to_ones();
    (void)solver->solve(x);
    expect(same(first, x), "the same bits from the saved factor");
    expect(solver->kind() == kind, "the kind");
    expect(same(first, solved(*solver, bound)), "factored again after it was loaded");
  }

  // Of the factor as it was made and as it was loaded.
  void tells_the_determinant() {
    saddle_ = kind_.factor != FactorKind::kCholesky;
    options_.delay_reserve = ample_reserve();
    Determinant alone;
    if (cluster_.rank() == 0) {
      const std::unique_ptr<Solver> solver = solver_of(system(), options_);
      expect_here(solver->plan(std::nullopt).has_value(), "a plan");
      expect_here(solver->factorise().has_value(), "a factorisation");
      alone = solver->determinant();
    }
    cluster_.barrier();
    std::unique_ptr<Solver> solver = made(options_);
    (void)solved(*solver, solver->least());
    expect_shared(*solver);
    expect(pivots_.perturbed == 0, fmt::format("{} pivots perturbed", pivots_.perturbed));
    expect_determinant(*solver, alone);
    solver->save(path_);
    solver.reset();
    solver = Solver::load(cluster_, path_, options_);
    expect_determinant(*solver, alone);
  }

  void goes_out_of_core() {
    SolverOptions options = options_;
    options.out_of_core = std::filesystem::path(path_).parent_path();
    std::unique_ptr<Solver> solver = made(options);
    const Bytes least = solver->least_out_of_core();
    expect(least < solver->least() && solver->least_for_plan() == least,
           fmt::format("less out of core: {} of {}, to plan {}", least, solver->least(),
                       solver->least_for_plan()));
    // Less than tight(): the system counts up to a quarter too much, too.
    const Bytes bound = least - ProcessAccount::kRunToRun / 4;
    const std::vector<double> first = solved(*solver, bound);
    expect(cluster_.sum(solver->spilled().bytes_written) > 0,
           fmt::format("bytes written; least {}, in core {}, alone {}, here {}", least,
                       solver->least(), solver->process_facts().sequential_least,
                       solver->process_facts().predicted_peak));
    expect(cluster_.sum(solver->spilled().bytes_read) > 0, "bytes read");
    // Panels without what fills their last page.
    const Bytes planned = solver->bytes_to_spill(),
                written = solver->spilled().bytes_written;
    expect(written <= planned && written >= planned / 2,
           fmt::format("{} bytes planned, {} written", planned, written));
    expect(same(first, solved(*solver, bound)), "the same bits out of core");
    solver->save(path_);
    (void)solved(*solver, std::nullopt);
    expect(solver->bytes_to_spill() == 0, "nothing in a file without a bound");
    solver.reset();
    solver = Solver::load(cluster_, path_, options);
    std::vector<double> x = solver->apply_to_ones();
    (void)solver->solve(x);
    expect(same(first, x), "saved out of core, loaded in core");
  }

  // Of one process alone: all say so, and which it was.
  void says_whose_file_is_too_large() {
    SolverOptions options = options_;
    options.out_of_core = std::filesystem::path(path_).parent_path();
    std::unique_ptr<Solver> solver = made(options);
    expect(solver->plan(solver->least_out_of_core()).has_value(), "a plan out of core");
    const auto files = cluster_.gather_all(solver->bytes_to_spill());
    const auto most =
        static_cast<std::int32_t>(std::ranges::max_element(files) - files.begin());
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit none{static_cast<rlim_t>(files[most] / 2), before.rlim_max};
    if (cluster_.rank() == most) setrlimit(RLIMIT_FSIZE, &none);
    expect_refused(
        [&] { (void)solver->factorise(); },
        {fmt::format("process {}: {}: cannot reserve", most, options.out_of_core)});
    setrlimit(RLIMIT_FSIZE, &before);
    expect(solver->factorise().has_value(), "a factorisation when there is room again");
    SolverOptions missing = options_;
    missing.out_of_core = path_ + "/none";
    solver.reset();
    expect_refused([&] { solver = made(missing); },
                   {missing.out_of_core + ": cannot make a temporary file"});
  }

 private:
  void expect(bool holds, std::string_view what) {
    if (cluster_.smallest(holds ? 1 : 0) == 0 && !holds) cluster_.fail(3, failure(what));
  }
  // With half of what is left for the differences between runs: buffers of MPI that come
  // with the first large messages have taken over a quarter.
  static Bytes tight(const Solver& solver) {
    return solver.least_out_of_core() - ProcessAccount::kRunToRun / 2;
  }
  // For what a part has beside its lease, and MPI.
  static constexpr Bytes kBeside = Bytes{24} << 20;

  void expect_in(const Budget& budget, const Solver& solver) {
    const Bytes held = solver.lease()->held().peak(), peak = peak_resident_bytes();
    expect(held > 0 && held <= solver.lease()->bytes(),
           fmt::format("{} held in a lease of {}", held, solver.lease()->bytes()));
    expect(peak <= budget.bytes(),
           fmt::format("{} resident, a budget of {}", peak, budget.bytes()));
  }

  // The last process has leased nearly all to somebody else.
  void refuses_where_one_has_no_room(const SolverOptions& options, Solver& solver) {
    std::unique_ptr<Lease> taken;
    if (cluster_.rank() == cluster_.size() - 1) {
      const Bytes rest = options.budget->left() - (Bytes{1} << 20);
      auto lease = options.budget->take(rest, rest);
      if (lease) taken = std::move(*lease);
    }
    const auto refused = solver.plan(std::nullopt);
    expect(!refused, "a plan without room at one process is refused at all");
    expect(refused.error().least_bytes > refused.error().bound_bytes,
           "with a budget that would do");
    expect(solver.lease() == nullptr, "no lease is left");
  }

  void expect_no_room(const std::function<void()>& call) {
    bool refused = false;
    try {
      call();
    } catch (const BudgetExceeded&) {
      refused = true;
    }
    expect(refused, "no room at one process is none at all");
  }

  // Everywhere, with all of the words.
  void expect_refused(const std::function<void()>& call,
                      const std::vector<std::string>& words) {
    std::string said;
    try {
      call();
    } catch (const InvalidInput& error) {
      said = error.what();
    }
    for (const std::string& each : words)
      expect(said.find(each) != std::string::npos,
             fmt::format("'{}' where '{}' was said", each, said));
  }

  void expect_shared(const Solver& solver) {
    const auto facts = solver.process_facts();
    expect(facts.shared_nodes > 0, "a node that processes share");
    expect(options_.front_grids == FrontGrids::kNever || facts.grid_nodes > 0,
           "a node in tiles over a grid");
  }
  // Process 0 knows that of one process.
  void expect_determinant(const Solver& solver, const Determinant& alone) {
    const Determinant found = solver.determinant();
    const double error = std::abs(found.log_modulus() - alone.log_modulus());
    expect(cluster_.largest(found.mantissa) == found.mantissa, "the same everywhere");
    expect(cluster_.rank() != 0 || found.sign() == alone.sign(), "the sign");
    expect(cluster_.rank() != 0 || std::abs(found.phase - alone.phase) <= 1e-10,
           "the argument");
    expect(cluster_.rank() != 0 || error <= 1e-10 * std::abs(alone.log_modulus()),
           fmt::format("a logarithm of {}, {} alone", found.log_modulus(),
                       alone.log_modulus()));
  }
  void expect_here(bool holds, const std::string& what) {
    if (!holds) cluster_.fail(3, failure(what));
  }
  // Process 0 knows what one process finds.
  void expect_pivots(const PivotStatistics& alone) {
    expect(pivots_.perturbed == 0, fmt::format("{} pivots perturbed", pivots_.perturbed));
    expect(pivots_.delayed > 100, fmt::format("{} columns delayed", pivots_.delayed));
    expect(cluster_.rank() != 0 || pivots_.negative == alone.negative,
           fmt::format("{} negative pivots, {} alone", pivots_.negative, alone.negative));
  }

  // For all delayed columns: no pivot is perturbed.
  [[nodiscard]] Bytes ample_reserve() const {
    const bool grids = options_.front_grids != FrontGrids::kNever;
    return (grids ? 12 : side_ > 20 || kind_.complex ? 2 : 1) * (Bytes{192} << 20);
  }
  [[nodiscard]] std::string failure(std::string_view what) const {
    return fmt::format("kind {}, {}: does not hold: {}", int(kind_.factor),
                       kind_.complex ? int(*kind_.complex) : -1, what);
  }
  [[nodiscard]] AnyMatrix system() const { return system_of(kind_, side_, saddle_); }
  [[nodiscard]] std::unique_ptr<Solver> made(const SolverOptions& options) {
    return made(cluster_, options);
  }
  [[nodiscard]] std::unique_ptr<Solver> made(Communicator& processes,
                                             const SolverOptions& options) {
    return solver_on(
        processes, kind_, [this] { return system(); }, options);
  }
  void factored(Solver& solver, std::optional<Bytes> bound) {
    const auto planned = solver.plan(bound);
    expect(planned.has_value(), planned ? "" : planned.error().message());
    const auto report = solver.factorise();
    expect(report.has_value(), "a factorisation");
    pivots_ = report->pivots;
    if (bound)
      expect(solver.memory().baseline + solver.factor_growth() <= *bound,
             fmt::format("the peak inside the bound: {} and {} of {} bytes",
                         solver.memory().baseline, solver.factor_growth(), *bound));
  }
  std::vector<double> solved(Solver& solver, std::optional<Bytes> bound) {
    factored(solver, bound);
    std::vector<double> x = solver.apply_to_ones();
    const Solution solution = solver.solve(x);
    expect(
        solution.refinement.backward_error <= 1e-14,
        fmt::format("a small backward error: {}, {} pivots perturbed, {} bytes in a file",
                    solution.refinement.backward_error, pivots_.perturbed,
                    solver.bytes_to_spill()));
    for (std::size_t k = 0; k < x.size(); ++k)
      if (!(std::abs(x[k] - (kind_.complex && k % 2 == 1 ? 0 : 1)) <= 1e-6))
        expect(false, fmt::format("x is {}", x[k]));
    expect(true, "all of x");
    return x;
  }

  static std::vector<double> solution_of(Solver& solver) {
    std::vector<double> x = solver.apply_to_ones();
    (void)solver.solve(x);
    return x;
  }

  void refuses_parts() {
    namespace fs = std::filesystem;
    const auto load = [this] { (void)Solver::load(cluster_, path_, options_); };
    const std::int32_t last = cluster_.size() - 1;
    const std::string part = fmt::format("{}.{}", path_, last), kept = part + "-kept";
    const std::string other = fmt::format("{}-b.{}", path_, last);
    refuses_another_number(last);
    change_last([&] { fs::copy_file(part, kept); });
    change_last([&] { flip_byte(part, 0.99); });
    expect_refused(load, {part + ":"});
    change_last([&] { flip_byte(part, 0.01); });
    expect_refused(load, {part + ":"});
    change_last([&] { fs::remove(part); });
    expect_refused(load, {part + ": cannot be opened"});
    change_last([&] { fs::copy_file(other, part); });
    expect_refused(load, {part + ": belongs to another save"});
    change_last([&] { fs::rename(kept, part); });
  }

  void refuses_another_number(std::int32_t last) {
    MPI_Comm fewer = MPI_COMM_NULL;
    MPI_Comm_split(MPI_COMM_WORLD, cluster_.rank() < last ? 0 : 1, 0, &fewer);
    MpiCommunicator some(fewer);
    std::string said;
    try {
      (void)Solver::load(some, path_, options_);
    } catch (const InvalidInput& error) {
      said = error.what();
    }
    const std::string numbers = fmt::format(
        "was saved by {} processes, and is loaded by {}", cluster_.size(), some.size());
    expect(said.find(numbers) != std::string::npos,
           fmt::format("'{}' in '{}'", numbers, said));
    MPI_Comm_free(&fewer);
  }

  // The files that were there stay, at every process.
  void refuses_to_save(Solver& solver) {
    const std::string nowhere = path_ + "-none/factor";
    expect_refused([&] { solver.save(nowhere); }, {nowhere});
    const std::int32_t last = cluster_.size() - 1;
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit none{4096, before.rlim_max};
    if (cluster_.rank() == last) setrlimit(RLIMIT_FSIZE, &none);
    expect_refused([&] { solver.save(path_); }, {path_ + "." + std::to_string(last)});
    setrlimit(RLIMIT_FSIZE, &before);
  }

  // The last process changes its file, while no other looks at it.
  void change_last(const std::function<void()>& change) {
    cluster_.barrier();
    if (cluster_.rank() == cluster_.size() - 1) change();
    cluster_.barrier();
  }
  static void flip_byte(const std::string& file, double where) {
    std::fstream stream(file, std::ios::in | std::ios::out | std::ios::binary);
    const auto at = static_cast<std::streamoff>(
        where * static_cast<double>(std::filesystem::file_size(file)));
    stream.seekg(at);
    const char byte = static_cast<char>(stream.get() ^ 1);
    stream.seekp(at);
    stream.put(byte);
  }

  Cluster& cluster_;
  SystemKind kind_;
  int side_;
  std::string path_;
  SolverOptions options_;
  bool saddle_ = false;
  PivotStatistics pivots_;
};

// Large enough that processes share nodes, in tiles over grids, or that every one has
// some in a budget, and that something may leave memory.
int side_for(const std::string& name, bool grids, bool complex, int processes) {
  if (grids) return 28;
  if (name == "out_of_core") return (complex ? 12 : 16) + 4 * processes;
  return complex && name != "budget" ? 16 : 20;
}

void run(Cluster& cluster, std::string name, std::span<const SystemKind> kinds, int side,
         const std::string& folder) {
  constexpr std::string_view kGrids = "grids_";
  const bool grids = name.starts_with(kGrids);
  if (grids) name.erase(0, kGrids.size());
  if (side == 0)
    side = side_for(name, grids, kinds[0].complex.has_value(), cluster.size());
  for (const SystemKind& kind : kinds) {
    Cases cases(cluster, kind, side, folder);
    if (grids) cases.takes_grids();
    if (name == "plans") {
      cases.plans_again();
      cases.replaces_values_before_the_first_plan();
      cases.refuses_a_second_between_others();
    } else if (name == "two") {
      cases.shares_the_processes_with_another();
    } else if (name == "delays") {
      cases.delays_columns_as_one_process();
    } else if (name == "budget") {
      cases.keeps_to_a_budget();
      cases.shares_a_budget_with_another();
    } else if (name == "determinant") {
      cases.tells_the_determinant();
    } else if (name == "files") {
      cases.loads_what_it_saved();
    } else {
      cases.goes_out_of_core();
      cases.says_whose_file_is_too_large();
    }
  }
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);
  return espalier::solver::run_job_program(
      argc, argv, "test=whole solver\n",
      [&](auto& cluster) {
        espalier::solver::in_folder_of_job(cluster, [&](const std::string& folder) {
          using namespace espalier::solver;
          std::span<const SystemKind> kinds(kRealKinds);
          if (argc > 2 && std::string_view(argv[2]) == "complex") kinds = kComplexKinds;
          if (argc > 4) kinds = kinds.subspan(std::atoi(argv[4]) - 1, 1);
          run(cluster, argc > 1 ? argv[1] : "plans", kinds,
              argc > 3 ? std::atoi(argv[3]) : 0, folder);
        });
      },
      "solved");
}
