// One search of shortest paths with the duals that it keeps: over 300 lines.

#include "solver/scaling/matching.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/numbers.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kUnmatched = -1;
// Columns that are looked at between two questions whether to go on: some 100 us.
constexpr std::int32_t kColumnsAnAsk = 256;

class Assignment {
 public:
  Assignment(const GeneralMatrix& matrix, const std::function<void()>& ask)
      : a_(matrix),
        ask_(ask),
        row_dual_(matrix.size, kInfinity),
        column_dual_(matrix.size, 0),
        row_match_(matrix.size, kUnmatched),
        pair_(matrix.size, kUnmatched),
        distance_(matrix.size, kInfinity),
        came_from_(matrix.size, kUnmatched),
        state_(matrix.size, State::kUnseen),
        death_(matrix.size, 0) {
    set_costs();
    match_cheaply();
    for (std::int32_t column = 0; column < a_.size; ++column) {
      if (pair_[column] == kUnmatched) augment(column);
    }
    if (deaths_ == 0) return;
    lower_dead_rows();
    raise_unmatched();
  }

  [[nodiscard]] Matching result() const;

 private:
  // Done for ever where no path from it leads to a free row.
  enum class State : std::int8_t { kUnseen, kReached, kDone };

  void set_costs();
  void match_cheaply();
  void shift_neighbour(std::int32_t column);
  void augment(std::int32_t column);
  void ask_now_and_then();
  void scan(std::int32_t column, double so_far);
  std::int32_t nearest();
  void update_duals(std::int32_t root);
  void follow_back();
  void lower_dead_rows();
  void raise_unmatched();

  [[nodiscard]] std::int64_t begin(std::int32_t column) const {
    return a_.column_start[column];
  }
  [[nodiscard]] std::int64_t end(std::int32_t column) const {
    return a_.column_start[column + 1];
  }
  // Not negative but for rounding; infinite where the matrix is zero.
  [[nodiscard]] double reduced(std::int64_t at, std::int32_t column) const {
    return cost_[at] - row_dual_[a_.row[at]] - column_dual_[column];
  }
  void pair(std::int64_t at, std::int32_t column) {
    row_match_[a_.row[at]] = column;
    pair_[column] = at;
  }
  [[nodiscard]] bool is_free(std::int32_t row) const {
    return row_match_[row] == kUnmatched;
  }

  const GeneralMatrix& a_;
  const std::function<void()>& ask_;
  std::int32_t scanned_ = 0;        // since ask_ was called
  std::vector<double> cost_;        // of each nonzero
  std::vector<double> column_max_;  // log2 of the largest modulus
  std::vector<double> row_dual_, column_dual_;
  std::vector<std::int32_t> row_match_;  // column of a row
  std::vector<std::int64_t> pair_;       // nonzero of a column

  // The search that is under way.
  std::vector<double> distance_;
  std::vector<std::int64_t> came_from_;  // nonzero by which a row was reached
  std::vector<State> state_;
  std::vector<std::int32_t> death_;            // of a row: the number of its search, or 0
  std::int32_t deaths_ = 0;                    // searches without a path
  std::vector<std::int32_t> touched_, level_;  // rows; level: at this distance
  struct Far {
    double distance;
    std::int32_t row;
    bool operator<(const Far& other) const { return distance > other.distance; }
  };
  std::vector<Far> heap_;                 // the nearest on top
  std::vector<std::int32_t> reached_by_;  // column that reached a row
  double shortest_ = kInfinity;           // length of the best path to a free row
  std::int32_t path_end_ = kUnmatched;    // its free row
};

void Assignment::set_costs() {
  cost_.resize(a_.row.size());
  column_max_.assign(a_.size, 0);
  reached_by_.assign(a_.size, kUnmatched);
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
void Assignment::match_cheaply() {
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

void Assignment::shift_neighbour(std::int32_t column) {
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

void Assignment::ask_now_and_then() {
  if (++scanned_ < kColumnsAnAsk) return;
  scanned_ = 0;
  if (ask_) ask_();
}

// Relaxes the column's entries: it is reached at distance `so_far`.
void Assignment::scan(std::int32_t column, double so_far) {
  ask_now_and_then();
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
    } else if (distance <= so_far) {
      level_.push_back(row);
    } else {
      heap_.push_back({distance, row});
      std::push_heap(heap_.begin(), heap_.end());
    }
  }
}

// The unfinished row of least distance that is nearer than the best free row.
std::int32_t Assignment::nearest() {
  while (!level_.empty()) {
    const std::int32_t row = level_.back();
    level_.pop_back();
    if (state_[row] == State::kReached && distance_[row] < shortest_) return row;
  }
  while (!heap_.empty() && heap_.front().distance < shortest_) {
    const auto [distance, row] = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end());
    heap_.pop_back();
    if (state_[row] == State::kReached && distance == distance_[row]) return row;
  }
  return kUnmatched;
}

void Assignment::augment(std::int32_t column) {
  shortest_ = kInfinity;
  path_end_ = kUnmatched;
  heap_.clear();
  level_.clear();
  scan(column, 0);
  for (std::int32_t row = nearest(); row != kUnmatched; row = nearest()) {
    state_[row] = State::kDone;
    scan(row_match_[row], distance_[row]);
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

void Assignment::update_duals(std::int32_t root) {
  for (std::int32_t row : touched_) {
    if (state_[row] != State::kDone) continue;
    row_dual_[row] += distance_[row] - shortest_;
    column_dual_[row_match_[row]] -= distance_[row] - shortest_;
  }
  column_dual_[root] += shortest_;
}

void Assignment::follow_back() {
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
void Assignment::lower_dead_rows() {
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
void Assignment::raise_unmatched() {
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

// Pairs the rows and columns that are left: on the diagonal first.
void complete(std::vector<std::int32_t>& row_of_column, std::vector<bool> row_taken) {
  const auto size = static_cast<std::int32_t>(row_of_column.size());
  for (std::int32_t column = 0; column < size; ++column) {
    if (row_of_column[column] != kUnmatched || row_taken[column]) continue;
    row_of_column[column] = column;
    row_taken[column] = true;
  }
  std::int32_t row = 0;
  for (std::int32_t& each : row_of_column) {
    if (each != kUnmatched) continue;
    while (row_taken[row]) ++row;
    each = row++;
  }
}

Matching Assignment::result() const {
  Matching matching;
  matching.row_of_column.assign(a_.size, kUnmatched);
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

// The row of a column's largest entry, the diagonal where it is one of them; kUnmatched
// where there is no nonzero or one that is not finite.
std::int32_t row_of_largest(const GeneralMatrix& matrix, std::int32_t column) {
  double most = 0;
  std::int32_t row = kUnmatched;
  for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
       ++at) {
    const double size = std::abs(matrix.value[at]);
    if (!std::isfinite(size)) return kUnmatched;
    if (size > most || (size == most && most > 0 && matrix.row[at] == column)) {
      most = size;
      row = matrix.row[at];
    }
  }
  return row;
}

// Where the largest entries of the columns stand in rows of their own no matching has a
// larger product, and one over them scales the columns: the rows need nothing.
std::optional<Matching> matching_of_largest(const GeneralMatrix& matrix) {
  const auto size = static_cast<std::size_t>(matrix.size);
  Matching matching;
  matching.row_of_column.resize(size);
  std::vector<bool> row_taken(size, false);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const std::int32_t row = row_of_largest(matrix, column);
    if (row == kUnmatched || row_taken[row]) return std::nullopt;
    row_taken[row] = true;
    matching.row_of_column[column] = row;
  }
  matching.matched.assign(size, true);
  matching.rank = matrix.size;
  matching.row_log.assign(size, 0.0);
  matching.column_log.reserve(size);
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    double most = 0;
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at)
      most = std::max(most, std::abs(matrix.value[at]));
    matching.column_log.push_back(-std::log2(most));
  }
  return matching;
}

template <class Matrix>
bool has_diagonal(const Matrix& matrix) {
  std::int32_t count = 0;
  for (std::int32_t column = 0; column < matrix.size; ++column)
    for (auto at = matrix.column_start[column]; at < matrix.column_start[column + 1];
         ++at)
      count += matrix.row[at] == column && matrix.value[at] != 0;
  return count == matrix.size;
}

}  // namespace

Matching maximum_product_matching(const GeneralMatrix& matrix,
                                  const std::function<void()>& ask) {
  if (auto simple = matching_of_largest(matrix)) return *std::move(simple);
  return Assignment(matrix, ask).result();
}

std::int32_t structural_rank(const GeneralMatrix& matrix,
                             const std::function<void()>& ask) {
  return has_diagonal(matrix) ? matrix.size : maximum_product_matching(matrix, ask).rank;
}

std::int32_t structural_rank(const SymmetricMatrix& matrix,
                             const std::function<void()>& ask) {
  return has_diagonal(matrix) ? matrix.size
                              : maximum_product_matching(expanded(matrix), ask).rank;
}

}  // namespace espalier::solver
