#include "peer_matrix.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>
#include <variant>

#include "patterns.h"
#include "solver/io/matrix_market.h"
#include "solver/matrix/grid.h"
#include "solver/ordering/ordering.h"

namespace espalier::bench {
namespace {

template <class Matrix>
PeerMatrix from(Matrix&& a) {
  return {a.size, std::is_same_v<Matrix, solver::SymmetricMatrix>,
          std::move(a.column_start), std::move(a.row), std::move(a.value)};
}

// Calls visit(row, column, value) for every entry of both triangles.
template <class Visit>
void for_each_entry(const PeerMatrix& a, const Visit& visit) {
  for (std::int32_t j = 0; j < a.size; ++j)
    for (auto k = a.column_start[j]; k < a.column_start[j + 1]; ++k) {
      visit(a.row[k], j, a.value[k]);
      if (a.symmetric && a.row[k] != j) visit(j, a.row[k], a.value[k]);
    }
}

// Compressed columns of (row, column) pairs that come in any order, through `each`,
// which is called twice and gives the same pairs to its argument both times.
template <class Each>
PeerMatrix compress(std::int32_t size, const Each& each) {
  PeerMatrix out{.size = size, .column_start = {}, .row = {}, .value = {}};
  out.column_start.assign(static_cast<std::size_t>(size) + 1, 0);
  each([&](std::int32_t, std::int32_t j, double) { ++out.column_start[j + 1]; });
  for (std::int32_t j = 0; j < size; ++j) out.column_start[j + 1] += out.column_start[j];
  const auto entries = static_cast<std::size_t>(out.column_start.back());
  std::vector<std::int64_t> next(out.column_start.begin(), out.column_start.end() - 1);
  std::vector<std::pair<std::int32_t, double>> pairs(entries);
  each([&](std::int32_t i, std::int32_t j, double v) { pairs[next[j]++] = {i, v}; });
  for (std::int32_t j = 0; j < size; ++j)
    std::sort(pairs.begin() + out.column_start[j],
              pairs.begin() + out.column_start[j + 1]);
  out.row.reserve(entries);
  out.value.reserve(entries);
  for (const auto& [i, v] : pairs) {
    out.row.push_back(i);
    out.value.push_back(v);
  }
  return out;
}

// The lower triangle of the pattern of A + A^T.
solver::SymmetricMatrix symmetric_pattern(const PeerMatrix& a) {
  PeerMatrix twice = compress(a.size, [&](const auto& visit) {
    for_each_entry(a, [&](std::int32_t i, std::int32_t j, double) {
      visit(std::max(i, j), std::min(i, j), 0.0);
    });
  });
  solver::SymmetricMatrix out{
      .size = a.size, .column_start = {0}, .row = {}, .value = {}};
  for (std::int32_t j = 0; j < a.size; ++j) {
    const auto begin = twice.row.begin() + twice.column_start[j];
    const auto end = twice.row.begin() + twice.column_start[j + 1];
    out.row.insert(out.row.end(), begin, std::unique(begin, end));
    out.column_start.push_back(static_cast<std::int64_t>(out.row.size()));
  }
  out.value.assign(out.row.size(), 1);
  return out;
}

}  // namespace

PeerMatrix read_input(const std::string& input) {
  if (input.starts_with("grid:"))
    return from(solver::make_grid(solver::parse_grid(input.substr(5))));
  if (input.starts_with("pattern:")) return make_pattern(input.substr(8));
  return std::visit([](auto&& matrix) { return from(std::move(matrix)); },
                    solver::read_matrix(input));
}

PeerMatrix expand(const PeerMatrix& a) {
  if (!a.symmetric) return a;
  return compress(a.size, [&](const auto& visit) { for_each_entry(a, visit); });
}

std::vector<std::int32_t> metis_ordering(const PeerMatrix& a) {
  return solver::compute_ordering(symmetric_pattern(a), solver::OrderingKind::kMetis);
}

std::vector<double> apply_to_ones(const PeerMatrix& a) {
  std::vector<double> b(static_cast<std::size_t>(a.size));
  for_each_entry(a, [&](std::int32_t i, std::int32_t, double v) { b[i] += v; });
  return b;
}

double backward_error(const PeerMatrix& a, std::span<const double> x,
                      std::span<const double> b) {
  std::vector<double> residual(b.begin(), b.end()), scale(b.size());
  for (std::size_t i = 0; i < b.size(); ++i) scale[i] = std::abs(b[i]);
  for_each_entry(a, [&](std::int32_t i, std::int32_t j, double v) {
    residual[i] -= v * x[j];
    scale[i] += std::abs(v * x[j]);
  });
  double error = 0;
  for (std::size_t i = 0; i < b.size(); ++i) {
    if (residual[i] == 0) continue;
    const double quotient = std::abs(residual[i]) / scale[i];
    if (std::isnan(quotient)) return std::numeric_limits<double>::infinity();
    error = std::max(error, quotient);
  }
  return error;
}

bool may_be_definite(const PeerMatrix& a) {
  if (!a.symmetric) return false;
  std::vector<double> diagonal(static_cast<std::size_t>(a.size));
  for_each_entry(a, [&](std::int32_t i, std::int32_t j, double v) {
    if (i == j) diagonal[i] = v;
  });
  if (std::any_of(diagonal.begin(), diagonal.end(), [](double d) { return !(d > 0); }))
    return false;
  bool possible = true;
  for_each_entry(a, [&](std::int32_t i, std::int32_t j, double v) {
    if (i != j && std::abs(v) >= std::sqrt(diagonal[i]) * std::sqrt(diagonal[j]))
      possible = false;
  });
  return possible;
}

}  // namespace espalier::bench
