#pragma once

// What solve and plan share: where a matrix comes from, its kind and its ordering.

#include <optional>
#include <string>
#include <string_view>

#include "cli/cli_types.h"
#include "cli/remedy.h"
#include "solver/io/any_matrix.h"
#include "solver/io/text_reader.h"
#include "solver/matrix/complex_matrix.h"
#include "solver/matrix/general_matrix.h"
#include "solver/matrix/matrix_kind.h"
#include "solver/ordering/ordering.h"

namespace espalier::cli {

class Report;

/// --ordering: the fill-reducing orderings that this build has.
void add_ordering(CLI::App& app, solver::OrderingKind& ordering);
/// --kind: none is "auto".
void add_kind(CLI::App& app, std::optional<solver::FactorKind>& kind);
/// The name that --kind has for it.
[[nodiscard]] std::string_view name(solver::FactorKind kind);

/// The ordering that was asked for and, for "auto", the one that was taken.
void report_ordering(Report& report, solver::OrderingKind asked,
                     std::optional<solver::OrderingKind> taken);

struct MatrixSource {
  std::string file, grid;  ///< one of them is given; a grid as "40x40x40"
  /// Added to the diagonal of a grid's matrix, which is complex then; none: it is real.
  std::optional<solver::Complex> shift = {};

  /// For messages and reports.
  [[nodiscard]] std::string name() const { return grid.empty() ? file : "grid " + grid; }
};

/// What makes one source of none or two.
[[nodiscard]] Remedy one_source(const MatrixSource& source);

/// Reads a real matrix, or makes the Laplacian of a grid.
/// @param kind  what it is asked to be; none: anything
/// @throws FileError as read_matrix(); InvalidInput for a bad grid and, naming the source
///         and the option, for a matrix that is not of that kind
[[nodiscard]] solver::InputMatrix read_input(const MatrixSource& source,
                                             std::optional<solver::FactorKind> kind);

/// The same of a Matrix Market file that is open: `source` names it.
[[nodiscard]] solver::InputMatrix read_input(const MatrixSource& source,
                                             solver::TextReader&& text,
                                             std::optional<solver::FactorKind> kind);

/// The same, and complex matrices.
/// @throws also InvalidInput for a complex matrix without the symmetry of that kind
[[nodiscard]] solver::AnyMatrix read_any_input(const MatrixSource& source,
                                               std::optional<solver::FactorKind> kind);

}  // namespace espalier::cli
