#include "cli/matrix_input.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "espalier/model/error.h"
#include "solver/io/matrix_market.h"
#include "solver/matrix/complex_kind.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/kind_of.h"

namespace espalier::cli {

using solver::FactorKind;
using solver::OrderingKind;

void add_ordering(CLI::App& app, OrderingKind& ordering) {
  std::vector<std::pair<std::string, OrderingKind>> choices;
  for (const OrderingKind kind : solver::all_orderings())
    if (solver::available(kind)) choices.emplace_back(solver::name(kind), kind);
  add_choice(app, "--ordering", ordering, std::move(choices), "Fill-reducing ordering");
}

void add_kind(CLI::App& app, std::optional<FactorKind>& kind) {
  add_choice<std::optional<FactorKind>>(app, "--kind", kind,
                                        {{"auto", std::nullopt},
                                         {"spd", FactorKind::kCholesky},
                                         {"symmetric", FactorKind::kLdlt},
                                         {"general", FactorKind::kLu}},
                                        "Kind of matrix: L L^T, L D L^T or L U");
}

std::string_view name(FactorKind kind) {
  return kind == FactorKind::kCholesky ? "spd"
         : kind == FactorKind::kLdlt   ? "symmetric"
                                       : "general";
}

void report_ordering(Report& report, OrderingKind asked,
                     std::optional<OrderingKind> taken) {
  report.text("ordering", "ordering", solver::name(asked));
  if (!taken) return;
  const bool by_itself = asked == OrderingKind::kAuto;
  report.text("ordering_taken", by_itself ? "  taken" : "", solver::name(*taken));
}

Remedy one_source(const MatrixSource& source) {
  return source.file.empty() ? set_option("--grid", "20x20x20") : drop_option("--grid");
}

namespace {

solver::SymmetricMatrix read_grid(const std::string& text) {
  return refusing(set_option("--grid", "20x20x20"),
                  [&] { return solver::make_grid(solver::parse_grid(text)); });
}

// What `check` throws becomes a refusal of --kind.
template <class Check>
void check_kind(const MatrixSource& source, FactorKind kind, const Check& check) {
  try {
    check();
  } catch (const InvalidInput& error) {
    throw Refused(
        fmt::format("{}: --kind {}: {}", source.name(), name(kind), error.what()),
        drop_option("--kind"));
  }
}

// A Helmholtz matrix: complex symmetric.
solver::ComplexMatrix shifted(solver::SymmetricMatrix&& grid, solver::Complex shift) {
  const std::vector<double> zeros(grid.row.size());
  solver::ComplexMatrix matrix =
      solver::zipped(solver::ComplexSymmetry::kSymmetric, std::move(grid), zeros);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    matrix.value[matrix.column_start[j]] += shift;
  return matrix;
}

solver::AnyMatrix read_source(const MatrixSource& source) {
  if (source.grid.empty()) return solver::read_any_matrix(source.file);
  if (source.shift) return shifted(read_grid(source.grid), *source.shift);
  return solver::InputMatrix(read_grid(source.grid));
}

solver::InputMatrix of_kind(const MatrixSource& source, std::optional<FactorKind> kind,
                            solver::InputMatrix&& matrix) {
  if (kind) check_kind(source, *kind, [&] { solver::require_kind(matrix, *kind); });
  return std::move(matrix);
}

}  // namespace

solver::InputMatrix read_input(const MatrixSource& source,
                               std::optional<FactorKind> kind) {
  if (source.grid.empty()) return of_kind(source, kind, solver::read_matrix(source.file));
  return of_kind(source, kind, read_grid(source.grid));
}

solver::InputMatrix read_input(const MatrixSource& source, solver::TextReader&& text,
                               std::optional<FactorKind> kind) {
  return of_kind(source, kind, solver::read_matrix(std::move(text)));
}

solver::AnyMatrix read_any_input(const MatrixSource& source,
                                 std::optional<FactorKind> kind) {
  solver::AnyMatrix any = read_source(source);
  if (!kind) return any;
  check_kind(source, *kind, [&] {
    if (const auto* real = std::get_if<solver::InputMatrix>(&any))
      solver::require_kind(*real, *kind);
    else
      (void)solver::symmetry_for(std::get<solver::ComplexMatrix>(any), kind);
  });
  return any;
}

}  // namespace espalier::cli
