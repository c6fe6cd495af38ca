// The C interface on several processes: what they do together.

#include <optional>
#include <string_view>
#include <utility>

#include "espalier/machine/load_module.h"
#include "solver/api/c/handle.h"
#include "solver/distributed/mpi_module.h"

using namespace espalier;
using namespace espalier::solver;
using namespace espalier::solver::c_api;

Communicator* c_api::processes_of(const espalier_solver_options& options) {
  if (options.communicator == nullptr) return nullptr;
  if (adopts(options))
    throw InvalidInput("options.runtime: an adopted one, with options.communicator");
  return options.communicator->processes.get();
}

void c_api::need_one_process(const espalier_solver& handle, const char* what) {
  if (handle.processes != nullptr)
    throw InvalidInput(fmt::format("{}: not with options.communicator", what));
}

void c_api::analyse_together(espalier_solver& handle, const espalier_solver_input& input,
                             const espalier_solver_options& options) {
  Communicator& processes = *handle.processes;
  SolverOptions chosen = options_from(options, input.order);
  take_progress(handle, options, chosen);
  std::optional<InputMatrix> real;
  std::optional<ComplexMatrix> numbers;
  const auto anywhere = [&](bool here) {
    return processes.largest(std::int64_t{here}) != 0;
  };
  together(processes, [&] {
    const espalier_solver_input given = given_input(input);
    if (processes.rank() > 0) return;
    if (given.scalar == ESPALIER_SOLVER_COMPLEX)
      numbers = handle.given_complex.emplace(given).with_values(given.values);
    else
      real = handle.given.emplace(given).with_values(given.values);
  });
  chosen.of_transposed =
      anywhere((handle.given && handle.given->transposed()) ||
               (handle.given_complex && handle.given_complex->transposed()));
  if (anywhere(numbers && factors_as_general(given_input(input), chosen)))
    chosen.kind = FactorKind::kLu;
  if (anywhere(numbers.has_value()))
    handle.complex =
        std::make_unique<ComplexSolver>(processes, std::move(numbers), chosen);
  else
    handle.solver = std::make_unique<Solver>(processes, std::move(real), chosen);
}

int c_api::factorise_together(espalier_solver& handle, const double* values,
                              std::int64_t entries) {
  InputMatrix real;
  ComplexMatrix numbers;
  const bool first = handle.processes->rank() == 0;
  together(*handle.processes, [&] {
    if (first) check_values(handle, values, entries);
  });
  handle.factored = handle.has_values = false;
  make_room_for_values(handle);
  together(*handle.processes, [&] {
    if (!first) return;
    if (handle.complex)
      numbers = handle.given_complex->with_values(values);
    else
      real = handle.given->with_values(values);
  });
  return handle.complex ? factorise_with(handle, std::move(numbers))
                        : factorise_with(handle, std::move(real));
}

int espalier_solver_communicator_create(espalier_solver_communicator** communicator,
                                        const void* mpi_comm) {
  return guarded([&] {
    need(communicator, "communicator") = nullptr;
    need(static_cast<const char*>(mpi_comm), "mpi_comm");
    const auto& mpi = module_table<MpiModule>(
        "libespalier_solver_mpi.so", "solvers over MPI", "espalier_solver_mpi_module");
    if (std::string_view(mpi.version) != espalier_solver_version())
      throw Error(fmt::format("libespalier_solver_mpi.so is version {}, this is {}",
                              mpi.version, espalier_solver_version()));
    auto opened = std::unique_ptr<Communicator>(mpi.open(mpi_comm));
    *communicator = new espalier_solver_communicator{std::move(opened)};
    return 0;
  });
}

void espalier_solver_communicator_destroy(espalier_solver_communicator* communicator) {
  delete communicator;
}
