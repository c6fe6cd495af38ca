// Solver: each call is its Impl's.

#include "espalier/solver/solver.h"

#include <utility>

#include "solver/api/solver_impl.h"

namespace espalier::solver {

Solver::Solver(InputMatrix&& matrix, const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(nullptr, std::move(matrix), options, step)) {}

Solver::Solver(Runtime& runtime, InputMatrix&& matrix, const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(&runtime, std::move(matrix), options, step)) {}

Solver::Solver(ComplexMatrix&& matrix, const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(nullptr, std::move(matrix), options, step)) {}

Solver::Solver(Runtime& runtime, ComplexMatrix&& matrix, const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(&runtime, std::move(matrix), options, step)) {}

Solver::Solver(Communicator& communicator, std::optional<InputMatrix>&& matrix,
               const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(communicator, std::move(matrix), options, step)) {}

Solver::Solver(Communicator& communicator, std::optional<ComplexMatrix>&& matrix,
               const SolverOptions& options,
               const std::function<void(std::string_view)>& step)
    : impl_(std::make_unique<Impl>(communicator, std::move(matrix), options, step)) {}

Solver::Solver(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

Solver::~Solver() = default;

void Solver::save(const std::string& path,
                  const std::function<void(double)>& progress) const {
  impl_->save(path, progress);
}

std::unique_ptr<Solver> Solver::load(const std::string& path,
                                     const SolverOptions& options,
                                     const std::function<void(double)>& progress) {
  return std::unique_ptr<Solver>(
      new Solver(Impl::load(nullptr, path, options, progress)));
}
std::unique_ptr<Solver> Solver::load(Runtime& runtime, const std::string& path,
                                     const SolverOptions& options,
                                     const std::function<void(double)>& progress) {
  return std::unique_ptr<Solver>(
      new Solver(Impl::load(&runtime, path, options, progress)));
}
std::unique_ptr<Solver> Solver::load(Communicator& communicator, const std::string& path,
                                     const SolverOptions& options,
                                     const std::function<void(double)>& progress) {
  return std::unique_ptr<Solver>(
      new Solver(Impl::load(communicator, path, options, progress)));
}

FactorKind Solver::kind() const { return impl_->kind(); }
Precision Solver::precision() const { return impl_->precision(); }
std::optional<ComplexSymmetry> Solver::complex() const { return impl_->complex(); }
bool Solver::spills() const { return impl_->spills(); }
const MemoryAccount& Solver::memory() const { return impl_->memory(); }
void Solver::settle_order(std::optional<Bytes> bound) { impl_->settle_order(bound); }
const std::vector<TriedOrdering>& Solver::orderings_tried() const {
  return impl_->orderings_tried();
}
Bytes Solver::least() const { return impl_->least(); }
bool Solver::of_transposed() const { return impl_->of_transposed(); }
bool Solver::may_not_fit() const { return impl_->may_not_fit(); }
Bytes Solver::least_out_of_core() const { return impl_->least_out_of_core(); }
Bytes Solver::least_for_plan() const { return impl_->least_for_plan(); }
const Analysis& Solver::analysis() const { return impl_->analysis(); }
const PreparedMatrix& Solver::prepared() const { return impl_->prepared(); }
const AssemblyTree& Solver::tree() const { return impl_->tree(); }
Seconds Solver::analyse_seconds() const { return impl_->analyse_seconds(); }
bool Solver::without_runtime() const { return impl_->without_runtime(); }

tl::expected<void, Infeasible> Solver::plan(std::optional<Bytes> bound) {
  return impl_->plan(bound);
}
tl::expected<FactorReport, NotPositiveDefinite> Solver::factorise(
    const std::function<void(double)>& progress) {
  return impl_->factorise(progress);
}
void Solver::replace_values(const InputMatrix& matrix) { impl_->replace_values(matrix); }
void Solver::replace_values(ComplexMatrix&& matrix) {
  impl_->replace_values(std::move(matrix));
}

Solution Solver::solve(std::span<double> b, std::int32_t nrhs, Operation operation,
                       std::span<const std::int64_t> rows,
                       const std::function<void(double)>& progress) {
  return impl_->solve(b, nrhs, operation, rows, progress);
}
void Solver::solve_part(FactorPart part, std::span<double> b, std::int32_t nrhs,
                        Operation operation,
                        const std::function<void(double)>& progress) {
  impl_->solve_part(part, b, nrhs, operation, progress);
}
void Solver::inverse_entries(std::span<const std::int32_t> rows,
                             std::span<const std::int32_t> columns,
                             std::span<double> values,
                             const std::function<void(double)>& progress) {
  impl_->inverse_entries(rows, columns, values, progress);
}
std::vector<double> Solver::apply_to_ones(Operation operation) const {
  return impl_->apply_to_ones(operation);
}
Determinant Solver::determinant() const { return impl_->determinant(); }
void Solver::schur(std::span<double> block) const { impl_->schur(block); }
std::vector<double> Solver::null_space_basis(Operation operation) {
  return impl_->null_space_basis(operation);
}
void Solver::set_refinement(bool refine, bool no_residual, bool estimate_errors) {
  impl_->set_refinement(refine, no_residual, estimate_errors);
}
void Solver::release_factor() { impl_->release_factor(); }

Bytes Solver::factor_growth() const { return impl_->factor_growth(); }
Bytes Solver::peak_resident() const { return impl_->peak_resident(); }
SpillCounters Solver::spilled() const { return impl_->spilled(); }
const Lease* Solver::lease() const { return impl_->lease(); }
Bytes Solver::bytes_to_spill() const { return impl_->bytes_to_spill(); }
std::int64_t Solver::null_space() const { return impl_->null_space(); }

const PivotStatistics& Solver::pivots() const { return impl_->pivots(); }
bool Solver::singular() const { return impl_->singular(); }
ProcessFacts Solver::process_facts() const { return impl_->process_facts(); }

}  // namespace espalier::solver
