// One solver on the processes of a job, of every kind: planned again, saved and loaded,
// out of core. mpirun starts it. What does not hold ends the job with a message.

#include <fmt/format.h>
#include <mpi.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "cli/job/cluster.h"
#include "solver/api/solver.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/mpi_communicator.h"
#include "solver/matrix/grid.h"

namespace espalier::solver {

using namespace cli;
namespace {

constexpr int kSide = 13;

// Of a grid of kSide^3 points, with `diagonal` at each of them.
template <class Diagonal>
SymmetricMatrix grid_with(const Diagonal& diagonal) {
  SymmetricMatrix matrix = make_grid({kSide, kSide, kSide});
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] = diagonal(j);
  return matrix;
}

// A system of each kind. The symmetric one has zeros on its diagonal, so that columns
// find no pivot in their blocks.
InputMatrix system_of(FactorKind kind) {
  std::mt19937 random(23);
  std::uniform_real_distribution<double> wind(-0.4, 0.4);
  if (kind == FactorKind::kCholesky)
    return grid_with([](std::int32_t j) { return 6.5 + 0.01 * (j % 7); });
  if (kind == FactorKind::kLdlt)
    return grid_with([](std::int32_t j) { return j % 3 == 0 ? 0.0 : 0.2 * (j % 5) - 1; });
  const SymmetricMatrix grid = grid_with([](std::int32_t) { return 6.0; });
  std::vector<std::vector<std::pair<std::int32_t, double>>> columns(grid.size);
  for (std::int32_t j = 0; j < grid.size; ++j)
    for (auto k = grid.column_start[j]; k < grid.column_start[j + 1]; ++k) {
      const std::int32_t i = grid.row[k];
      columns[j].emplace_back(i, grid.value[k] + wind(random));
      if (i != j) columns[i].emplace_back(j, grid.value[k] + wind(random));
    }
  GeneralMatrix matrix{.size = grid.size, .column_start = {0}, .row = {}, .value = {}};
  for (auto& column : columns) {
    std::sort(column.begin(), column.end());
    for (const auto& [row, value] : column) {
      matrix.row.push_back(row);
      matrix.value.push_back(value);
    }
    matrix.column_start.push_back(std::ssize(matrix.row));
  }
  return matrix;
}

void multiply_by(InputMatrix& matrix, double factor) {
  std::visit(
      [factor](auto& each) {
        for (double& value : each.value) value *= factor;
      },
      matrix);
}

class Cases {
 public:
  Cases(Cluster& cluster, FactorKind kind, std::string folder)
      : cluster_(cluster), kind_(kind), path_(std::move(folder) + "/factor") {
    options_.kind = kind;
    options_.workers = 2;
    options_.pivot_threshold = 0.1;
    options_.prepare.scaling = PrepareOptions::Scaling::kNone;
  }

  void plans_again() {
    const std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> first = solved(*solver, solver->least());
    expect(solver->process_facts().shared_nodes > 0, "a node that processes share");
    if (kind_ == FactorKind::kLdlt) expect(delayed_ > 0, "delayed pivots");
    (void)solved(*solver, 2 * solver->least());
    (void)solved(*solver, std::nullopt);
    expect(same(first, solved(*solver, solver->least())), "the same bits again");
    const auto refused = solver->plan(Bytes{1} << 20);
    expect(!refused && refused.error().least_bytes == solver->least(),
           "a bound that is refused, with the least");
    std::vector<double> x = solver->row_sums();
    (void)solver->solve(x);
    expect(same(first, x), "the factor is still there after a refusal");

    // Exactly the same arithmetic: pivots and right-hand sides are four times as large.
    InputMatrix matrix = system_of(kind_);
    multiply_by(matrix, 4);
    solver->replace_values(matrix);
    expect(same(first, solved(*solver, solver->least())), "other values, planned again");
  }

  void replaces_values_before_the_first_plan() {
    InputMatrix matrix = system_of(kind_);
    multiply_by(matrix, 4);
    const std::unique_ptr<Solver> solver = made(options_);
    const std::unique_ptr<Solver> other = made(options_);
    solver->replace_values(matrix);
    expect(same(solved(*other, other->least()), solved(*solver, other->least())),
           "values that came before the plan");
  }

  void loads_what_it_saved() {
    const std::unique_ptr<Solver> solver = made(options_);
    const std::vector<double> first = solved(*solver, solver->least());
    solver->save(path_);
    const std::unique_ptr<Solver> loaded = Solver::load(cluster_, path_, options_);
    std::vector<double> x = loaded->row_sums();
    (void)loaded->solve(x);
    expect(same(first, x), "the same bits from the saved factor");
    expect(loaded->kind() == solver->kind(), "the kind");
    expect(same(first, solved(*loaded, loaded->least())),
           "factored again after it was loaded");
    refuses_parts(*solver);
  }

  void goes_out_of_core() {
    SolverOptions options = options_;
    options.out_of_core = std::filesystem::path(path_).parent_path();
    const std::unique_ptr<Solver> solver = made(options);
    const Bytes least = solver->least_out_of_core();
    expect(least <= solver->least() && solver->least_for_plan() == least,
           "less out of core");
    const std::vector<double> first = solved(*solver, least);
    expect(cluster_.sum(solver->spilled().bytes_written) > 0, "bytes written");
    expect(cluster_.sum(solver->spilled().bytes_read) > 0, "bytes read");
    expect(solver->spilled().bytes_written == solver->bytes_to_spill(),
           "what was planned is what was written");
    expect(same(first, solved(*solver, least)), "the same bits out of core");
    solver->save(path_);
    const std::unique_ptr<Solver> loaded = Solver::load(cluster_, path_, options);
    std::vector<double> x = loaded->row_sums();
    (void)loaded->solve(x);
    expect(same(first, x), "saved out of core, loaded in core");
    (void)solved(*solver, std::nullopt);
    expect(solver->bytes_to_spill() == 0, "nothing in a file without a bound");
  }

  // Of one process alone: all say so, and which it was.
  void says_whose_file_is_too_large() {
    SolverOptions options = options_;
    options.out_of_core = std::filesystem::path(path_).parent_path();
    const std::unique_ptr<Solver> solver = made(options);
    expect(solver->plan(solver->least_out_of_core()).has_value(), "a plan out of core");
    const std::int32_t last = cluster_.size() - 1;
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit none{4096, before.rlim_max};
    if (cluster_.rank() == last) setrlimit(RLIMIT_FSIZE, &none);
    expect_refused(
        [&] { (void)solver->factorise(); },
        {fmt::format("process {}: {}: cannot reserve", last, options.out_of_core)});
    setrlimit(RLIMIT_FSIZE, &before);
    expect(solver->factorise().has_value(), "a factorisation when there is room again");
    SolverOptions missing = options_;
    missing.out_of_core = path_ + "/none";
    const std::unique_ptr<Solver> nowhere = made(missing);
    expect(nowhere->plan(nowhere->least_out_of_core()).has_value(), "a plan");
    expect_refused([&] { (void)nowhere->factorise(); },
                   {"process 0: ", missing.out_of_core});
  }

 private:
  void expect(bool holds, std::string_view what) {
    if (cluster_.smallest(holds ? 1 : 0) == 0 && !holds)
      cluster_.fail(3, fmt::format("kind {}: does not hold: {}", int(kind_), what));
  }
  static bool same(const std::vector<double>& a, const std::vector<double>& b) {
    return a.size() == b.size() &&
           std::memcmp(a.data(), b.data(), a.size() * sizeof(double)) == 0;
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

  [[nodiscard]] std::unique_ptr<Solver> made(const SolverOptions& options) {
    std::optional<InputMatrix> matrix;
    if (cluster_.rank() == 0) matrix = system_of(kind_);
    return std::make_unique<Solver>(cluster_, std::move(matrix), options);
  }

  std::vector<double> solved(Solver& solver, std::optional<Bytes> bound) {
    const auto planned = solver.plan(bound);
    expect(planned.has_value(), planned ? "" : planned.error().message());
    const auto report = solver.factorise();
    expect(report.has_value(), "a factorisation");
    delayed_ = report->pivots.delayed;
    if (bound) expect(solver.peak_resident() <= *bound, "the peak inside the bound");
    std::vector<double> x = solver.row_sums();
    const Solution solution = solver.solve(x);
    expect(solution.refinement.backward_error <= 1e-14, "a small backward error");
    for (const double each : x)
      if (!(std::abs(each - 1) <= 1e-6)) expect(false, fmt::format("x is {}", each));
    expect(true, "all of x");
    return x;
  }

  void refuses_parts(Solver& solver) {
    const auto load = [this] { (void)Solver::load(cluster_, path_, options_); };
    const std::int32_t last = cluster_.size() - 1;
    const std::string part = last == 0 ? path_ : fmt::format("{}.{}", path_, last);
    const std::string numbers = fmt::format("was saved by {} process", cluster_.size());
    {
      MPI_Comm fewer = MPI_COMM_NULL;
      MPI_Comm_split(MPI_COMM_WORLD, cluster_.rank() < last ? 0 : 1, 0, &fewer);
      MpiCommunicator some(fewer);
      std::string said;
      try {
        (void)Solver::load(some, path_, options_);
      } catch (const InvalidInput& error) {
        said = error.what();
      }
      expect(said.find(numbers) != std::string::npos &&
                 said.find(fmt::format("loaded by {}", some.size())) != std::string::npos,
             fmt::format("both numbers in '{}'", said));
      MPI_Comm_free(&fewer);
    }
    change_last(part, [](const std::string& file) { flip_byte(file, 0.99); });
    expect_refused(load, {part + ":"});
    change_last(part, [](const std::string& file) { flip_byte(file, 0.01); });
    expect_refused(load, {part + ":"});
    change_last(part, [](const std::string& file) { std::filesystem::remove(file); });
    expect_refused(load, {part + ": cannot be opened"});
    solver.save(path_);
    if (cluster_.rank() == last) std::filesystem::copy_file(part, part + "-old");
    solver.save(path_);
    change_last(part, [](const std::string& file) {
      std::filesystem::rename(file + "-old", file);
    });
    expect_refused(load, {part + ": belongs to another save"});
    refuses_to_save(solver);
  }

  // The file that was there stays, at every process.
  void refuses_to_save(Solver& solver) {
    const std::string nowhere = path_ + "-none/factor";
    expect_refused([&] { solver.save(nowhere); }, {nowhere});
    solver.save(path_);
    const std::int32_t last = cluster_.size() - 1;
    rlimit before{};
    getrlimit(RLIMIT_FSIZE, &before);
    const rlimit none{4096, before.rlim_max};
    if (cluster_.rank() == last) setrlimit(RLIMIT_FSIZE, &none);
    expect_refused([&] { solver.save(path_); }, {path_ + "." + std::to_string(last)});
    setrlimit(RLIMIT_FSIZE, &before);
    (void)Solver::load(cluster_, path_, options_);
  }

  // The file of the last process, while no other looks at it.
  void change_last(const std::string& part,
                   const std::function<void(const std::string&)>& change) {
    cluster_.barrier();
    if (cluster_.rank() == cluster_.size() - 1) change(part);
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
  FactorKind kind_;
  std::string path_;
  SolverOptions options_;
  std::int64_t delayed_ = 0;
};

void run(Cluster& cluster, const std::string& name) {
  std::signal(SIGXFSZ, SIG_IGN);
  std::string folder(64, '\0');
  if (cluster.rank() == 0) {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "espalier-XXXXXX").string();
    folder = mkdtemp(pattern.data());
    folder.resize(64, '\0');
  }
  cluster.broadcast(std::as_writable_bytes(std::span(folder)), 0);
  folder.resize(std::strlen(folder.c_str()));
  for (const FactorKind kind :
       {FactorKind::kCholesky, FactorKind::kLdlt, FactorKind::kLu}) {
    Cases cases(cluster, kind, folder);
    if (name == "plans") {
      cases.plans_again();
      cases.replaces_values_before_the_first_plan();
    } else if (name == "files") {
      cases.loads_what_it_saved();
    } else {
      cases.goes_out_of_core();
      cases.says_whose_file_is_too_large();
    }
  }
  cluster.barrier();
  if (cluster.rank() == 0) std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace espalier::solver

int main(int argc, char** argv) {
  espalier::solver::Cluster cluster(argc, argv, "test=whole solver\n");
  try {
    espalier::solver::run(cluster, argc > 1 ? argv[1] : "plans");
  } catch (const std::exception& error) {
    cluster.fail(3, error.what());
  }
  if (cluster.rank() == 0) std::puts("solved");
}
