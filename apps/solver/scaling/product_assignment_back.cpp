#include <algorithm>
#include <cmath>
#include <limits>

#include "espalier/model/numbers.h"
#include "solver/matrix/offsets.h"
#include "solver/scaling/product_assignment.h"

namespace espalier::solver {
namespace {

// What a reduced cost is rounded by, of its terms: duals are sums of many updates.
constexpr double kRoundedBy = 8 * std::numeric_limits<double>::epsilon();

}  // namespace

void ProductAssignment::transpose() {
  row_start_.assign(a_.size + 1LL, 0);
  for (const std::int32_t row : a_.row) ++row_start_[row + 1];
  counts_to_starts(row_start_);
  across_.resize(a_.row.size());
  across_cost_.resize(a_.row.size());
  for (std::int32_t column = 0; column < a_.size; ++column)
    for (auto at = begin(column); at < end(column); ++at) {
      const std::int64_t to = row_start_[a_.row[at]]++;
      across_[to] = column;
      across_cost_[to] = cost_[at];
    }
  cursors_to_starts(row_start_);
}

// Relaxes the row's entries: the way on from it has length `so_far`.
void ProductAssignment::scan_back(std::int32_t row, double so_far) {
  ask_now_and_then();
  for (auto at = row_start_[row]; at < row_start_[row + 1]; ++at) {
    const std::int32_t column = across_[at];
    if (distance_[column] <= so_far) continue;
    const double slack = across_cost_[at] - row_dual_[row] - column_dual_[column];
    const double distance = so_far + std::max(0.0, slack);
    if (distance >= distance_[column]) continue;
    distance_[column] = distance;
    open_.put(distance, column);
  }
}

// The distance within which all waiting columns are that are reached at all.
double ProductAssignment::reach_back() {
  open_.clear();
  for (std::int32_t row = 0; row < a_.size; ++row)
    if (is_free(row)) scan_back(row, 0);
  auto awaited = waiting_.size();
  double reach = 0;
  while (awaited > 0) {
    const auto column = open_.take(distance_, kInfinity);
    if (!column) break;
    reach = distance_[*column];
    if (pair_[*column] == kUnmatched)
      --awaited;
    else
      scan_back(a_.row[pair_[*column]], reach);
  }
  return reach;
}

// With the distance d of a column to the nearest free row, no more than `reach`, for that
// of its pair as well, d_j <= d_i + c_ij - u_i - v_j: reduced costs stay what they should
// be when d_i - reach is taken from u_i and d_j - reach is added to v_j.
void ProductAssignment::move_duals(double reach) {
  for (std::int32_t column = 0; column < a_.size; ++column) {
    const double nearer = reach - distance_[column];
    if (nearer <= 0) continue;
    column_dual_[column] -= nearer;
    if (pair_[column] != kUnmatched) row_dual_[a_.row[pair_[column]]] += nearer;
  }
  for (std::int32_t row = 0; row < a_.size; ++row)
    if (is_free(row)) row_dual_[row] += reach;
}

// Where no way leads to a free row: columns that wait stop waiting, and the rows of those
// that are matched are done. They die together.
void ProductAssignment::give_up() {
  if (std::erase_if(waiting_, [this](std::int32_t column) {
        return distance_[column] == kInfinity;
      }) == 0)
    return;
  ++deaths_;
  for (std::int32_t column = 0; column < a_.size; ++column) {
    if (distance_[column] < kInfinity || pair_[column] == kUnmatched) continue;
    const std::int32_t row = a_.row[pair_[column]];
    if (state_[row] == State::kDone) continue;
    state_[row] = State::kDone;
    death_[row] = deaths_;
  }
}

void ProductAssignment::look_back() {
  move_duals(reach_back());
  give_up();
  std::ranges::fill(distance_, kInfinity);
}

bool ProductAssignment::is_tight(std::int64_t at, std::int32_t column) const {
  return reduced(at, column) <= kRoundedBy * (1 + std::abs(row_dual_[a_.row[at]]) +
                                              std::abs(column_dual_[column]));
}

// Whether the last column of the way has a tight entry in a free row; then it is taken,
// and the columns before it take the entries by which they were left.
bool ProductAssignment::takes_free_row(const std::vector<std::int32_t>& way) {
  const std::int32_t last = way.back();
  for (auto at = begin(last); at < end(last); ++at) {
    if (!is_free(a_.row[at]) || !is_tight(at, last)) continue;
    pair(at, last);
    for (std::size_t k = 0; k + 1 < way.size(); ++k) pair(came_from_[way[k]] - 1, way[k]);
    return true;
  }
  return false;
}

// Whether a way of tight entries is found, depth first, over rows that were not tried.
bool ProductAssignment::goes_down(std::int32_t root) {
  std::vector<std::int32_t> way{root};
  came_from_[root] = begin(root);
  if (takes_free_row(way)) return true;
  while (!way.empty()) {
    const std::int32_t column = way.back();
    if (came_from_[column] == end(column)) {
      way.pop_back();
      continue;
    }
    const std::int64_t at = came_from_[column]++;
    const std::int32_t row = a_.row[at];
    if (state_[row] != State::kUnseen || !is_tight(at, column)) continue;
    state_[row] = State::kReached;
    touched_.push_back(row);
    way.push_back(row_match_[row]);
    came_from_[way.back()] = begin(way.back());
    ask_now_and_then();
    if (takes_free_row(way)) return true;
  }
  return false;
}

void ProductAssignment::match_tight() {
  for (auto column = waiting_.rbegin(); column != waiting_.rend(); ++column)
    goes_down(*column);
  std::erase_if(waiting_,
                [this](std::int32_t column) { return pair_[column] != kUnmatched; });
  for (const std::int32_t row : touched_) state_[row] = State::kUnseen;
  touched_.clear();
}

}  // namespace espalier::solver
