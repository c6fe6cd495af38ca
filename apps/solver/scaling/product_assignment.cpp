#include "solver/scaling/product_assignment.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"

namespace espalier::solver {
namespace {

// Columns that are looked at between two questions whether to go on: some 100 us.
constexpr std::int32_t kColumnsAnAsk = 256;
constexpr std::int32_t kNoRow = -1;

// Pairs the rows and columns that are left: on the diagonal first.
void complete(std::vector<std::int32_t>& row_of_column, std::vector<bool> row_taken) {
  const auto size = static_cast<std::int32_t>(row_of_column.size());
  for (std::int32_t column = 0; column < size; ++column) {
    if (row_of_column[column] != kNoRow || row_taken[column]) continue;
    row_of_column[column] = column;
    row_taken[column] = true;
  }
  std::int32_t row = 0;
  for (std::int32_t& each : row_of_column) {
    if (each != kNoRow) continue;
    while (row_taken[row]) ++row;
    each = row++;
  }
}

}  // namespace

ProductAssignment::ProductAssignment(const GeneralMatrix& matrix,
                                     const std::function<void()>& ask,
                                     std::int32_t patience)
    : a_(matrix),
      ask_(ask),
      row_dual_(matrix.size, kInfinity),
      column_dual_(matrix.size, 0),
      row_match_(matrix.size, kUnmatched),
      pair_(matrix.size, kUnmatched),
      distance_(matrix.size, kInfinity),
      came_from_(matrix.size, kUnmatched),
      state_(matrix.size, State::kUnseen),
      death_(matrix.size, 0),
      reached_by_(matrix.size, kUnmatched),
      shortest_(kInfinity) {
  set_costs();
  match_cheaply();
  search_all(patience);
  if (deaths_ == 0) return;
  lower_dead_rows();
  raise_unmatched();
}

void ProductAssignment::set_costs() {
  cost_.resize(a_.row.size());
  column_max_.assign(a_.size, 0);
  for (std::int32_t column = 0; column < a_.size; ++column) {
    double most = -kInfinity;
    for (auto at = begin(column); at < end(column); ++at) {
      if (!std::isfinite(a_.value[at])) {
        throw InvalidInput(fmt::format("entry ({}, {}) is {}", a_.row[at] + 1, column + 1,
                                       a_.value[at]));
      }
      cost_[at] = std::log2(std::abs(a_.value[at]));
      most = std::max(most, cost_[at]);
    }
    if (most == -kInfinity) {  // no nonzero
      std::fill(cost_.begin() + begin(column), cost_.begin() + end(column), kInfinity);
      continue;
    }
    column_max_[column] = most;
    for (auto at = begin(column); at < end(column); ++at) {
      cost_[at] = most - cost_[at];
      row_dual_[a_.row[at]] = std::min(row_dual_[a_.row[at]], cost_[at]);
    }
  }
  for (double& dual : row_dual_) {
    if (dual == kInfinity) dual = 0;
  }
  for (std::int32_t column = 0; column < a_.size; ++column) {
    double least = kInfinity;
    for (auto at = begin(column); at < end(column); ++at) {
      least = std::min(least, cost_[at] - row_dual_[a_.row[at]]);
    }
    if (least < kInfinity) column_dual_[column] = least;
  }
}

// The diagonal; else a free row without distance, or one that its column can leave.
void ProductAssignment::match_cheaply() {
  for (std::int32_t column = 0; column < a_.size; ++column) {
    for (auto at = begin(column); at < end(column); ++at) {
      if (a_.row[at] == column && reduced(at, column) <= 0) pair(at, column);
    }
  }
  for (std::int32_t column = 0; column < a_.size; ++column) {
    for (auto at = begin(column); pair_[column] == kUnmatched && at < end(column); ++at) {
      if (is_free(a_.row[at]) && reduced(at, column) <= 0) pair(at, column);
    }
    if (pair_[column] == kUnmatched) shift_neighbour(column);
  }
}

void ProductAssignment::shift_neighbour(std::int32_t column) {
  for (auto at = begin(column); at < end(column); ++at) {
    if (reduced(at, column) > 0) continue;
    const std::int32_t other = row_match_[a_.row[at]];
    for (auto k = begin(other); k < end(other); ++k) {
      if (!is_free(a_.row[k]) || reduced(k, other) > 0) continue;
      pair(k, other);
      pair(at, column);
      return;
    }
  }
}

void ProductAssignment::search_all(std::int32_t patience) {
  for (std::int32_t column = a_.size - 1; column >= 0; --column)
    if (pair_[column] == kUnmatched) waiting_.push_back(column);
  std::int64_t limit = patience * (std::ssize(cost_) + a_.size);
  while (!waiting_.empty()) {
    const std::int32_t column = waiting_.back();
    waiting_.pop_back();
    augment(column);
    if (waiting_.empty() || looked_at_ < limit) continue;
    if (row_start_.empty()) {
      transpose();
      limit /= 2;
    }
    look_back();
    match_tight();
    looked_at_ = 0;
  }
}

void ProductAssignment::ask_now_and_then() {
  if (++scanned_ < kColumnsAnAsk) return;
  scanned_ = 0;
  if (ask_) ask_();
}

// Relaxes the column's entries: it is reached at distance `so_far`.
void ProductAssignment::scan(std::int32_t column, double so_far) {
  ask_now_and_then();
  looked_at_ += end(column) - begin(column);
  for (auto at = begin(column); at < end(column); ++at) {
    const std::int32_t row = a_.row[at];
    if (state_[row] == State::kDone) continue;
    const double distance = so_far + std::max(0.0, reduced(at, column));
    if (distance >= shortest_ || distance >= distance_[row]) continue;
    came_from_[row] = at;
    reached_by_[row] = column;
    distance_[row] = distance;
    if (state_[row] == State::kUnseen) touched_.push_back(row);
    state_[row] = State::kReached;
    if (is_free(row)) {
      shortest_ = distance;
      path_end_ = row;
    } else {
      open_.put(distance, row);
    }
  }
}

void ProductAssignment::augment(std::int32_t column) {
  shortest_ = kInfinity;
  path_end_ = kUnmatched;
  open_.clear();
  scan(column, 0);
  while (const auto row = open_.take(distance_, shortest_)) {
    state_[*row] = State::kDone;
    scan(row_match_[*row], distance_[*row]);
  }
  if (path_end_ != kUnmatched) {
    update_duals(column);
    follow_back();
  }
  // Without a path all that was reached is done, and stays so.
  const bool dies = path_end_ == kUnmatched;
  deaths_ += dies;
  for (std::int32_t row : touched_) {
    if (dies)
      death_[row] = deaths_;
    else
      state_[row] = State::kUnseen;
    distance_[row] = kInfinity;
  }
  touched_.clear();
}

void ProductAssignment::update_duals(std::int32_t root) {
  for (std::int32_t row : touched_) {
    if (state_[row] != State::kDone) continue;
    row_dual_[row] += distance_[row] - shortest_;
    column_dual_[row_match_[row]] -= distance_[row] - shortest_;
  }
  column_dual_[root] += shortest_;
}

void ProductAssignment::follow_back() {
  std::int32_t row = path_end_;
  while (row != kUnmatched) {
    const std::int32_t column = reached_by_[row];
    const std::int64_t left = pair_[column];
    pair(came_from_[row], column);
    row = left == kUnmatched ? kUnmatched : a_.row[left];
  }
}

// Searches after a row's death ignored it. Columns matched with rows that died together
// have no rows but these and those that died before, so they can be moved together until
// no column that died later, or not at all, has too large a dual: from the last death on.
void ProductAssignment::lower_dead_rows() {
  std::vector<double> excess(deaths_ + 1, 0.0);  // 0 where nothing died
  const auto death_of = [this](std::int32_t column) {
    return pair_[column] == kUnmatched ? 0 : death_[a_.row[pair_[column]]];
  };
  std::vector<std::int32_t> latest_first(a_.size);
  std::iota(latest_first.begin(), latest_first.end(), 0);
  std::ranges::stable_sort(latest_first, std::greater{}, [&](std::int32_t column) {
    return death_of(column) == 0 ? deaths_ + 1 : death_of(column);
  });
  for (const std::int32_t column : latest_first) {
    const std::int32_t own = death_of(column);
    for (auto at = begin(column); at < end(column); ++at) {
      const std::int32_t death = death_[a_.row[at]];
      if (death > 0 && death != own)
        excess[death] = std::max(excess[death], excess[own] - reduced(at, column));
    }
  }
  for (std::int32_t column = 0; column < a_.size; ++column) {
    if (death_of(column) == 0) continue;
    row_dual_[a_.row[pair_[column]]] -= excess[death_of(column)];
    column_dual_[column] += excess[death_of(column)];
  }
}

// Columns and rows without a pair: as large as the others let them.
void ProductAssignment::raise_unmatched() {
  std::vector<double> room(a_.size, kInfinity);
  const auto raise = [&](std::vector<double>& dual, auto&& is_unmatched) {
    for (std::int32_t k = 0; k < a_.size; ++k)
      if (is_unmatched(k) && room[k] < kInfinity) dual[k] += room[k];
  };
  const auto look = [&](auto&& line_of) {
    std::ranges::fill(room, kInfinity);
    for (std::int32_t column = 0; column < a_.size; ++column)
      for (auto at = begin(column); at < end(column); ++at)
        room[line_of(at, column)] =
            std::min(room[line_of(at, column)], reduced(at, column));
  };
  look([](std::int64_t, std::int32_t column) { return column; });
  raise(column_dual_,
        [this](std::int32_t column) { return pair_[column] == kUnmatched; });
  look([this](std::int64_t at, std::int32_t) { return a_.row[at]; });
  raise(row_dual_, [this](std::int32_t row) { return is_free(row); });
}

Matching ProductAssignment::result() const {
  Matching matching;
  matching.row_of_column.assign(a_.size, kNoRow);
  matching.matched.assign(a_.size, false);
  matching.row_log = row_dual_;
  matching.column_log.resize(a_.size);
  std::vector<bool> row_taken(a_.size, false);
  for (std::int32_t column = 0; column < a_.size; ++column) {
    matching.column_log[column] = column_dual_[column] - column_max_[column];
    if (pair_[column] == kUnmatched) continue;
    const std::int32_t row = a_.row[pair_[column]];
    matching.row_of_column[column] = row;
    matching.matched[column] = true;
    row_taken[row] = true;
    ++matching.rank;
    // Exact on the pair, whatever the updates were rounded to.
    matching.column_log[column] =
        cost_[pair_[column]] - row_dual_[row] - column_max_[column];
  }
  complete(matching.row_of_column, std::move(row_taken));
  return matching;
}

}  // namespace espalier::solver
