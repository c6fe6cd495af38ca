// Scales and orders of rows of each kind, and values on them: over 300 lines.

#include "solver/scaling/prepare.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "solver/matrix/kind_of.h"
#include "solver/matrix/permute.h"
#include "solver/matrix/strong_components.h"
#include "solver/scaling/matching.h"
#include "solver/scaling/places.h"
#include "solver/scaling/prepare_singletons.h"
#include "solver/scaling/scaling.h"
#include "solver/scaling/symmetric_matching.h"

namespace espalier::solver {
namespace {

using Scaling = PrepareOptions::Scaling;

constexpr double kWideDiagonal = 1e8;
Scaling chosen(Scaling asked, FactorKind kind, const SquareMatrix& matrix) {
  if (kind != FactorKind::kCholesky) {
    return asked == Scaling::kAuto ? Scaling::kMatching : asked;
  }
  if (asked == Scaling::kMatching) return Scaling::kEquilibrate;
  if (asked != Scaling::kAuto) return asked;
  return diagonal_spread(matrix.lower) > kWideDiagonal ? Scaling::kEquilibrate
                                                       : Scaling::kNone;
}

// Factors after which every entry has all its digits; none where some would leave the
// range of double precision: what is scaled must stay what was given.
template <class Matrix>
void set_scales(PreparedMatrix& prepared, const Matrix& matrix,
                const std::vector<double>& row_log,
                const std::vector<double>& column_log) {
  std::vector<double> row = powers_of_two(row_log), column = powers_of_two(column_log);
  for (std::int32_t j = 0; j < matrix.size; ++j)
    for (auto at = matrix.column_start[j]; at < matrix.column_start[j + 1]; ++at) {
      const double value = matrix.value[at];
      if (value != 0 && !std::isnormal(value * (row[matrix.row[at]] * column[j]))) return;
    }
  prepared.row_scale = std::move(row);
  prepared.column_scale = std::move(column);
}

void multiply(GeneralMatrix& matrix, const PreparedMatrix& prepared) {
  if (prepared.row_scale.empty()) return;
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      matrix.value[at] *=
          prepared.row_scale[matrix.row[at]] * prepared.column_scale[column];
    }
  }
}

void multiply(SymmetricMatrix& matrix, const std::vector<double>& scale) {
  if (scale.empty()) return;
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at) {
      matrix.value[at] *= scale[matrix.row[at]] * scale[column];
    }
  }
}

// The lower triangle of a matrix that require_kind() has accepted.
SymmetricMatrix lower_triangle(InputMatrix&& matrix) {
  if (auto* symmetric = std::get_if<SymmetricMatrix>(&matrix)) {
    return std::move(*symmetric);
  }
  return symmetrised(std::get<GeneralMatrix>(matrix)).lower;
}

GeneralMatrix both_triangles(InputMatrix&& matrix) {
  if (auto* general = std::get_if<GeneralMatrix>(&matrix)) return std::move(*general);
  return expanded(std::get<SymmetricMatrix>(matrix));
}

bool has_pairs(const std::vector<std::int32_t>& partner) {
  for (std::size_t k = 0; k < partner.size(); ++k) {
    if (partner[k] != static_cast<std::int32_t>(k)) return true;
  }
  return false;
}

// Whether the matrix may be cut: what is unmatched must be so whatever the values are. Of
// zeros that were given none would raise the rank as another number then.
bool may_cut(const PreparedMatrix& prepared, std::int32_t size,
             const PrepareOptions& options) {
  const std::int32_t unmatched = size - prepared.structural_rank;
  return options.block_triangular && prepared.pattern_rank == prepared.structural_rank &&
         (unmatched == 0 || unmatched > options.few_unmatched);
}

// Logarithms of the scales, with the partners that come with them.
// @return none: all are one
std::optional<std::vector<double>> match_symmetric(PreparedMatrix& prepared,
                                                   const PrepareOptions& options,
                                                   SymmetricMatching& matching,
                                                   const std::function<void()>& ask) {
  const SymmetricMatrix& lower = prepared.matrix.lower;
  const bool definite = prepared.kind == FactorKind::kCholesky;
  const Scaling scaling = chosen(options.scaling, prepared.kind, prepared.matrix);
  if (!definite && (scaling == Scaling::kMatching ||
                    structural_rank(lower, ask) < prepared.structural_rank)) {
    matching = symmetric_matching(lower, options.weak_diagonal, ask);
    prepared.structural_rank = matching.rank;
  }
  if (scaling == Scaling::kMatching) {
    if (has_pairs(matching.partner)) prepared.partner = std::move(matching.partner);
    return std::move(matching.log);
  }
  if (scaling == Scaling::kEquilibrate)
    return definite ? unit_diagonal_logs(lower) : equilibration(expanded(lower)).row;
  const double uniform = uniform_log(lower.value);
  if (uniform == 0) return std::nullopt;
  return std::vector<double>(static_cast<std::size_t>(lower.size), uniform / 2);
}

// The entries of unmatched variables go to the coupling, in both triangles.
void take_out(PreparedMatrix& prepared, std::vector<std::int32_t>&& unmatched) {
  const SymmetricMatrix all = std::exchange(prepared.matrix.lower, {});
  std::vector<std::int32_t> component(static_cast<std::size_t>(all.size), 0);
  std::int32_t count = 0;
  for (const std::int32_t each : unmatched) component[each] = ++count;
  ComponentSplit split = split_components(expanded(all), component);
  prepared.matrix.lower = symmetrised(std::move(split.inside)).lower;
  if (split.between.row.empty()) return;
  prepared.coupling = {std::move(split.between)};
  prepared.coupling.unmatched = std::move(unmatched);
}

void prepare_symmetric(PreparedMatrix& prepared, const PrepareOptions& options,
                       const std::function<void()>& ask) {
  SymmetricMatrix& lower = prepared.matrix.lower;
  if (prepared.kind == FactorKind::kLdlt && options.block_triangular &&
      options.exchange_singletons &&
      chosen(options.scaling, prepared.kind, prepared.matrix) == Scaling::kMatching &&
      prepare_singletons(prepared, options.weak_diagonal, ask)) {
    prepared.pattern_rank = prepared.structural_rank;
    return;
  }
  SymmetricMatching matching;
  if (const auto log = match_symmetric(prepared, options, matching, ask)) {
    set_scales(prepared, lower, *log, *log);
    multiply(lower, prepared.row_scale);
  }
  prepared.pattern_rank = pattern_rank(lower, prepared.structural_rank, ask);
  if (may_cut(prepared, lower.size, options) && !matching.unmatched.empty())
    take_out(prepared, std::move(matching.unmatched));
}

// Scales, and the order of rows, of a matrix for L U.
// @return of each column whether its row in that order is one that it is matched with;
//         empty: all are
std::vector<bool> match_general(PreparedMatrix& prepared, const GeneralMatrix& matrix,
                                const PrepareOptions& options,
                                const std::function<void()>& ask) {
  const Scaling scaling = chosen(options.scaling, prepared.kind, prepared.matrix);
  Matching matching;
  if (scaling == Scaling::kMatching || structural_rank(matrix, ask) < matrix.size) {
    matching = maximum_product_matching(matrix, ask);
    prepared.structural_rank = matching.rank;
  }
  prepared.pattern_rank = pattern_rank(matrix, prepared.structural_rank, ask);
  const bool singular = prepared.pattern_rank < matrix.size;
  if (scaling == Scaling::kMatching ||
      (singular && may_cut(prepared, matrix.size, options)))
    prepared.row_of = std::move(matching.row_of_column);
  if (scaling == Scaling::kEquilibrate) {
    const ScalingLogs logs = equilibration(matrix);
    set_scales(prepared, matrix, logs.row, logs.column);
  } else if (scaling == Scaling::kMatching) {
    balance(matching.row_log, matching.column_log);
    set_scales(prepared, matrix, matching.row_log, matching.column_log);
  } else if (const double uniform = uniform_log(matrix.value); uniform != 0) {
    const std::vector<double> log(static_cast<std::size_t>(matrix.size), uniform / 2);
    set_scales(prepared, matrix, log, log);
  }
  return std::move(matching.matched);
}

// In the order of the matching. An unmatched variable is a component by itself: a circle
// through it would be a way from its row to its column along which matched pairs can be
// exchanged for one more.
void cut_blocks(PreparedMatrix& prepared, GeneralMatrix& matrix,
                const std::vector<bool>& matched) {
  ComponentSplit split = split_components(std::move(matrix), strong_components(matrix));
  matrix = std::move(split.inside);
  if (split.between.row.empty()) return;
  prepared.coupling = {std::move(split.between)};
  for (std::int32_t k = 0; k < matrix.size; ++k)
    if (!matched[k]) prepared.coupling.unmatched.push_back(k);
}

void prepare_general(PreparedMatrix& prepared, GeneralMatrix&& matrix,
                     const PrepareOptions& options, const std::function<void()>& ask) {
  const std::vector<bool> matched = match_general(prepared, matrix, options, ask);
  multiply(matrix, prepared);
  if (!prepared.row_of.empty()) {
    const std::vector<std::int32_t> inverse = inverse_permutation(prepared.row_of);
    for (std::int32_t& row : matrix.row) row = inverse[row];
    if (may_cut(prepared, matrix.size, options)) cut_blocks(prepared, matrix, matched);
  }
  prepared.matrix = symmetrised(std::move(matrix));
}

// Calls visit(row, column, value) with the entries of A; of a symmetric one that is given
// by a triangle with both unless `once`.
template <class Visit>
void for_each_entry(const InputMatrix& matrix, bool once, Visit visit) {
  const bool opposite = std::holds_alternative<SymmetricMatrix>(matrix) && !once;
  const auto each_of = [&](const auto& a) {
    for (std::int32_t column = 0; column < a.size; ++column) {
      for (auto at = a.column_start[column]; at < a.column_start[column + 1]; ++at) {
        visit(a.row[at], column, a.value[at]);
        if (opposite && a.row[at] != column) visit(column, a.row[at], a.value[at]);
      }
    }
  };
  std::visit(each_of, matrix);
}

}  // namespace

PreparedMatrix prepare(InputMatrix&& matrix, FactorKind kind,
                       const PrepareOptions& options, const std::function<void()>& ask) {
  require_kind(matrix, kind);
  PreparedMatrix prepared;
  prepared.kind = kind;
  prepared.structural_rank = order_of(matrix);
  if (kind == FactorKind::kLu) {
    prepare_general(prepared, both_triangles(std::move(matrix)), options, ask);
  } else {
    prepared.matrix.lower = lower_triangle(std::move(matrix));
    prepare_symmetric(prepared, options, ask);
  }
  return prepared;
}

void check_refill(const PreparedMatrix& prepared, std::int32_t size,
                  const InputMatrix& matrix) {
  require_kind(matrix, prepared.kind);
  if (order_of(matrix) != size) {
    throw InvalidInput(fmt::format("a matrix of order {} for a pattern of order {}",
                                   order_of(matrix), size));
  }
}

void refill(SquareMatrix& target, const PreparedMatrix& prepared,
            std::span<const std::int32_t> order, const InputMatrix& matrix,
            GeneralMatrix* coupling) {
  check_refill(prepared, target.size(), matrix);
  clear_values(target);
  if (coupling != nullptr) std::fill(coupling->value.begin(), coupling->value.end(), 0.0);
  const Places places(target.size(), prepared, order);
  // Where rows go with columns an entry and its opposite have one place in the blocks.
  const bool coupled = coupling != nullptr && coupling->size > 0;
  const bool once = target.symmetric() && prepared.row_of.empty() && !coupled;
  for_each_entry(matrix, once, [&](auto row, auto column, double value) {
    PlacedEntry entry = places(row, column, value);
    if (once && entry.row < entry.column) std::swap(entry.row, entry.column);
    if (!put_entry(target, entry) &&
        (coupling == nullptr || !put_entry(*coupling, entry)))
      throw outside_pattern(row, column);
  });
}

void place_entries(const PreparedMatrix& prepared, std::span<const std::int32_t> order,
                   const InputMatrix& matrix,
                   const std::function<void(const PlacedEntry&)>& visit) {
  const auto size = static_cast<std::int32_t>(order.size());
  check_refill(prepared, size, matrix);
  const Places places(size, prepared, order);
  for_each_entry(matrix, false, [&](auto row, auto column, double value) {
    visit(places(row, column, value));
  });
}

void clear_values(SquareMatrix& target) {
  std::fill(target.lower.value.begin(), target.lower.value.end(), 0.0);
  std::fill(target.upper.begin(), target.upper.end(), 0.0);
  target.lower_imaginary.assign(target.complex ? target.lower.value.size() : 0, 0.0);
  target.upper_imaginary.assign(target.complex ? target.upper.size() : 0, 0.0);
}

bool put_entry(SquareMatrix& target, const PlacedEntry& entry) {
  const std::int64_t at = find_entry(target.lower, entry.row, entry.column);
  if (at < 0) return false;
  if (entry.row >= entry.column) target.lower.value[at] = entry.value;
  if (entry.row <= entry.column && !target.symmetric()) target.upper[at] = entry.value;
  return true;
}

bool put_entry(GeneralMatrix& coupling, const PlacedEntry& entry) {
  if (coupling.size == 0) return false;
  const std::int64_t at = find_entry(coupling, entry.row, entry.column);
  if (at >= 0) coupling.value[at] = entry.value;
  return at >= 0;
}

InvalidInput outside_pattern(std::int32_t row, std::int32_t column) {
  return InvalidInput(fmt::format(
      "entry ({}, {}) is outside the pattern that was analysed", row + 1, column + 1));
}

void refill(PreparedMatrix& prepared, const InputMatrix& matrix) {
  Coupling coupling = std::move(prepared.coupling);
  refill(prepared.matrix, prepared, {}, matrix, &coupling);
  prepared.coupling = std::move(coupling);
}

}  // namespace espalier::solver
