#include "solver/front/repeated_cholesky.h"

#include <algorithm>
#include <array>
#include <limits>

#include "espalier/model/error.h"
#include "solver/front/flush_subnormals.h"
#include "solver/front/front.h"
#include "solver/front/node_run.h"
#include "solver/kernels/dense.h"
#include "solver/kernels/update.h"
#include "solver/matrix/multiversion.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// The columns [begin, end) of a child's contribution block, to the column of the parent
// that begins at target(q).
template <class Target>
[[gnu::always_inline]] inline void add_columns(
    std::int32_t begin, std::int32_t end, std::int32_t rows, std::int32_t consecutive,
    const std::int32_t* positions, const double* block, const Target& target) {
  for (std::int32_t q = begin; q < end; ++q) {
    const double* const source = block + std::int64_t{q} * rows;
    double* const column = target(q);
    std::int32_t i = q;
    for (; i < consecutive; ++i) column[positions[i]] += source[i];
    if (i == rows) continue;
    double* const shifted = column + (positions[i] - i);
#pragma GCC ivdep
    for (; i < rows; ++i) shifted[i] += source[i];
  }
}

// Orders of fronts up to which all kernels are loops.
constexpr std::int32_t kLoops = 16;

struct Parent {
  std::int32_t pivots, order;
  double *panel, *contribution;
};

ESPALIER_MULTIVERSION void add_child(std::int32_t rows, std::int32_t in_panel,
                                     std::int32_t consecutive,
                                     const std::int32_t* positions, const double* block,
                                     const Parent& parent) {
  const std::int64_t below = parent.order - parent.pivots;
  add_columns(0, in_panel, rows, consecutive, positions, block, [&](std::int32_t q) {
    return parent.panel + positions[q] * std::int64_t{parent.order};
  });
  add_columns(in_panel, rows, rows, consecutive, positions, block, [&](std::int32_t q) {
    return parent.contribution + (positions[q] - parent.pivots) * below - parent.pivots;
  });
}

}  // namespace

bool RepeatedCholesky::suits(const Symbolic& symbolic, const AssemblyTree& tree) {
  if (tree.kind != FactorKind::kCholesky || tree.nodes.size() != 1 ||
      tree.nodes[0].tiled || tree.nodes[0].factor_at >= 0 || symbolic.kept() > 0)
    return false;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    if (!is_small_front(symbolic, tree, s)) return false;
  return true;
}

RepeatedCholesky::RepeatedCholesky(const Symbolic& symbolic, const AssemblyTree& tree,
                                   const SymmetricMatrix& pattern) {
  ESPALIER_ASSERT(suits(symbolic, tree), "what suits() is asked first");
  fronts_.reserve(static_cast<std::size_t>(symbolic.fronts()));
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t pivots = symbolic.pivots(s), order = symbolic.front_order(s);
    fronts_.push_back({symbolic.first_column[s], pivots, order,
                       tree.joins_previous[static_cast<std::size_t>(s)], entries_, 0, 0,
                       0});
    entries_ += std::int64_t{order} * pivots;
    calls_blas_ |= order > kLoops;
  }
  place_contributions(symbolic, tree);
  list_children(symbolic, tree);
  place_entries(symbolic, pattern);
}

// A front's is on top of what its earlier siblings left on the stack of its level, and
// its children's are gone from theirs.
void RepeatedCholesky::place_contributions(const Symbolic& symbolic,
                                           const AssemblyTree& tree) {
  std::vector<std::int8_t> level(fronts_.size(), 0);
  for (std::size_t s = fronts_.size(); s-- > 0;)
    if (symbolic.parent[s] >= 0) level[s] = 1 - level[symbolic.parent[s]];
  std::array<std::int64_t, 2> top{}, most{};
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    Front& front = fronts_[s];
    const std::int64_t below = front.order - front.pivots;
    for (std::int32_t c = tree.first_child[s]; c >= 0; c = tree.next_sibling[c])
      if (!fronts_[c].joins)
        top[1 - level[s]] = std::min(top[1 - level[s]], fronts_[c].contribution);
    front.contribution = front.joins ? fronts_[s - 1].contribution : top[level[s]];
    if (!front.joins) top[level[s]] += below * below;
    most[level[s]] = std::max(most[level[s]], top[level[s]]);
  }
  for (std::size_t s = 0; s < fronts_.size(); ++s)
    if (level[s] == 1) fronts_[s].contribution += most[0];
  contributions_.resize(static_cast<std::size_t>(most[0] + most[1]));
}

void RepeatedCholesky::list_children(const Symbolic& symbolic, const AssemblyTree& tree) {
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    Front& front = fronts_[s];
    front.children_begin = static_cast<std::int32_t>(children_.size());
    for (std::int32_t c = tree.first_child[s]; c >= 0; c = tree.next_sibling[c]) {
      if (tree.is_joined(c)) continue;
      const std::size_t begin = positions_.size();
      const auto rows = static_cast<std::int32_t>(symbolic.rows_of(c).size());
      positions_.resize(begin + static_cast<std::size_t>(rows));
      const auto own = std::span(positions_).subspan(begin);
      relative_indices(symbolic, c, static_cast<std::int32_t>(s), own);
      std::int32_t consecutive = std::max(rows - 1, 0);
      while (consecutive > 0 && own[consecutive - 1] + 1 == own[consecutive])
        --consecutive;
      children_.push_back({rows, rows_before(own, front.pivots), consecutive,
                           static_cast<std::int32_t>(begin), fronts_[c].contribution});
    }
    front.children_end = static_cast<std::int32_t>(children_.size());
  }
}

void RepeatedCholesky::place_entries(const Symbolic& symbolic,
                                     const SymmetricMatrix& pattern) {
  place_of_entry_.reserve(pattern.row.size());
  for (std::size_t s = 0; s < fronts_.size(); ++s) {
    const Front& front = fronts_[s];
    const auto rows = symbolic.rows_of(static_cast<std::int32_t>(s));
    for (std::int32_t j = 0; j < front.pivots; ++j) {
      const std::int64_t column = front.panel + std::int64_t{j} * front.order;
      auto from = rows.begin();
      for (auto k = pattern.column_start[front.first + j];
           k < pattern.column_start[front.first + j + 1]; ++k) {
        std::int64_t place = pattern.row[k] - front.first;
        if (place >= front.pivots) {
          from = std::lower_bound(from, rows.end(), pattern.row[k]);
          ESPALIER_ASSERT(from != rows.end() && *from == pattern.row[k],
                          "an entry of A lies in the front of its column");
          place = front.pivots + (from - rows.begin());
        }
        place_of_entry_.push_back(column + place);
      }
    }
  }
}

Factor<double> RepeatedCholesky::make_factor(const Symbolic& symbolic,
                                             const AssemblyTree& tree) const {
  Factor<double> factor(symbolic, tree);
  factor.storage[0] = PageBuffer(tree.nodes[0].factor_bytes);
  for (std::size_t s = 0; s < fronts_.size(); ++s) factor.offset[s] = fronts_[s].panel;
  return factor;
}

void RepeatedCholesky::put(const SymmetricMatrix& a, double* panels) const {
  std::fill_n(panels, entries_, 0.0);
  for (std::size_t k = 0; k < place_of_entry_.size(); ++k)
    panels[place_of_entry_[k]] += a.value[k];
}

void RepeatedCholesky::assemble(const Front& front, double* panel,
                                double* contribution) const {
  const std::int64_t below = front.order - front.pivots;
  if (!front.joins) std::fill_n(contribution, below * below, 0.0);
  const Parent parent{front.pivots, front.order, panel, contribution};
  for (std::int32_t k = front.children_begin; k < front.children_end; ++k) {
    const Child& child = children_[k];
    add_child(child.rows, child.pivots, child.consecutive,
              positions_.data() + child.positions,
              contributions_.data() + child.contribution, parent);
  }
}

RepeatedCholesky::Outcome RepeatedCholesky::factorise(const SymmetricMatrix& a,
                                                      double least_part,
                                                      Factor<double>& factor) {
  const FlushSubnormals flush;
  auto* const panels = factor.storage[0].as<double>();
  put(a, panels);
  Outcome outcome{{}, std::numeric_limits<double>::infinity()};
  for (const Front& front : fronts_) {
    double* const panel = panels + front.panel;
    double* const contribution = contributions_.data() + front.contribution;
    assemble(front, panel, contribution);
    const std::int32_t failed = kernels::cholesky_panel(front.pivots, front.order, panel);
    const std::int32_t good =
        clear_pivots(a, least_part, front.first, panel, front.order,
                     failed != 0 ? failed - 1 : front.pivots, outcome.smallest);
    if (good < front.pivots) {
      outcome.failed = {front.first + good};
      break;
    }
    const std::int32_t below = front.order - front.pivots;
    kernels::update_lower(below, below, front.pivots, panel + front.pivots, front.order,
                          contribution, below);
  }
  return outcome;
}

}  // namespace espalier::solver
