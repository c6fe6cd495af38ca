#include "cli/matrix_input.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "cli/options.h"
#include "cli/output.h"
#include "espalier/model/error.h"
#include "solver/io/matrix_market.h"
#include "solver/matrix/grid.h"
#include "solver/matrix/kind_of.h"

namespace espalier::cli {

using solver::FactorKind;
using solver::OrderingKind;

void add_ordering(CLI::App& app, OrderingKind& ordering) {
  std::vector<std::pair<std::string, OrderingKind>> choices;
  for (const OrderingKind kind :
       {OrderingKind::kNested, OrderingKind::kMetis, OrderingKind::kScotch,
        OrderingKind::kAmd, OrderingKind::kNatural, OrderingKind::kAuto})
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
  try {
    return solver::make_grid(solver::parse_grid(text));
  } catch (const InvalidInput& error) {
    throw Refused(error.what(), set_option("--grid", "20x20x20"));
  }
}

}  // namespace

solver::InputMatrix read_input(const MatrixSource& source,
                               std::optional<FactorKind> kind) {
  solver::InputMatrix matrix =
      source.grid.empty() ? solver::read_matrix(source.file) : read_grid(source.grid);
  if (!kind) return matrix;
  try {
    solver::require_kind(matrix, *kind);
  } catch (const InvalidInput& error) {
    throw Refused(
        fmt::format("{}: --kind {}: {}", source.name(), name(*kind), error.what()),
        drop_option("--kind"));
  }
  return matrix;
}

}  // namespace espalier::cli
