// The matrix of a solver: whole, or spread over processes.

#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "solver/api/solver_processes.h"
#include "solver/distributed/distribute.h"
#include "solver/distributed/move_columns.h"
#include "solver/distributed/replace_columns.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
// The columns of the matrix go to where the mapping at hand has them.
void Solver::Impl::move_matrix() {
  Processes& all = *processes_;
  all.rows.reset();
  std::vector<ColumnRange> columns =
      column_ranges(analysis_.symbolic, all.whole, all.distribution);
  if (all.columns.empty())
    distribute_columns(all.communicator, columns, analysis_.permuted);
  else
    move_columns(all.communicator, all.columns, columns, analysis_.permuted);
  all.columns = std::move(columns);
  sum_rows_in_order();
  trim_heap();
  // What a factorisation leaves of its reserve is resident at the next plan, and counted.
  if (!all.beside_matrix) all.beside_matrix = baseline_bytes() - matrix_bytes_now();
}

// When the columns are where they belong.
void Solver::Impl::sum_rows_in_order() {
  Processes& all = *processes_;
  all.rows =
      std::make_unique<RowExchange>(all.communicator, all.columns, analysis_.permuted);
}

void Solver::Impl::measure_entries_together() {
  measure_entries();
  largest_entry_ = processes_->communicator.largest(largest_entry_);
}

// @param check  at process 0, whose matrix it is: before anything is done
template <class Matrix>
void Solver::Impl::replace_together(const Matrix& matrix,
                                    const std::function<void()>& check) {
  Processes& all = *processes_;
  together(all.communicator, [&] {
    if (all.communicator.rank() == 0) check();
  });
  factored_ = has_values_ = false;
  replace_columns(
      all.communicator,
      all.columns.empty() ? at_first_process(analysis_.symbolic.size) : all.columns,
      analysis_.symbolic.permutation, prepared_,
      all.communicator.rank() == 0 ? &matrix : nullptr, analysis_.permuted,
      analysis_.form.coupling);
  measure_entries_together();
  note_other_values();
}
template void Solver::Impl::replace_together(const InputMatrix&,
                                             const std::function<void()>&);
template void Solver::Impl::replace_together(const ComplexMatrix&,
                                             const std::function<void()>&);

MatrixPart Solver::Impl::matrix() const {
  if (processes_)
    return matrix_part(analysis_.permuted, processes_->communicator,
                       processes_->rows.get(), &analysis_.form.coupling);
  if (analysis_.symbolic.kept() > 0)
    return MatrixPart::leading(analysis_.permuted, analysis_.symbolic.inner());
  return {analysis_.permuted, analysis_.form.coupling};
}

}  // namespace espalier::solver
