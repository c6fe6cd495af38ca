#include "solver/matrix/strong_components.h"

#include <algorithm>
#include <utility>

namespace espalier::solver {
namespace {

constexpr std::int32_t kNone = -1;

// Depth first; `path_` is the chain of calls that recursion would make.
class Search {
 public:
  explicit Search(const GeneralMatrix& matrix)
      : a_(matrix),
        order_(matrix.size, kNone),
        lowest_(matrix.size),
        component_(matrix.size, kNone),
        next_(matrix.column_start.begin(), matrix.column_start.end()) {}

  std::vector<std::int32_t> run() && {
    for (std::int32_t column = 0; column < a_.size; ++column)
      if (order_[column] == kNone) search(column);
    return std::move(component_);
  }

 private:
  void enter(std::int32_t column) {
    order_[column] = lowest_[column] = visited_++;
    path_.push_back(column);
    open_.push_back(column);
  }

  void search(std::int32_t start) {
    enter(start);
    while (!path_.empty()) {
      const std::int32_t column = path_.back();
      if (next_[column] < a_.column_start[column + 1])
        follow(column, a_.row[next_[column]++]);
      else
        leave(column);
    }
  }

  void follow(std::int32_t column, std::int32_t row) {
    if (order_[row] == kNone)
      enter(row);
    else if (component_[row] == kNone)  // on the way, or reached from it
      lowest_[column] = std::min(lowest_[column], order_[row]);
  }

  // All that is reached from the column has been seen.
  void leave(std::int32_t column) {
    path_.pop_back();
    if (!path_.empty())
      lowest_[path_.back()] = std::min(lowest_[path_.back()], lowest_[column]);
    if (lowest_[column] != order_[column]) return;
    std::int32_t member = kNone;
    do {
      member = open_.back();
      open_.pop_back();
      component_[member] = components_;
    } while (member != column);
    ++components_;
  }

  const GeneralMatrix& a_;
  std::vector<std::int32_t> order_;   // of the first visits
  std::vector<std::int32_t> lowest_;  // order of what can be reached inside open_
  std::vector<std::int32_t> component_;
  std::vector<std::int64_t> next_;  // entry of each column to follow
  std::vector<std::int32_t> path_;
  std::vector<std::int32_t> open_;  // visited, without a component yet
  std::int32_t visited_ = 0, components_ = 0;
};

}  // namespace

std::vector<std::int32_t> strong_components(const GeneralMatrix& matrix) {
  return Search(matrix).run();
}

ComponentSplit split_components(GeneralMatrix&& matrix,
                                std::span<const std::int32_t> component) {
  ComponentSplit split;
  GeneralMatrix& between = split.between;
  between.size = matrix.size;
  between.column_start.assign(1, 0);
  between.column_start.reserve(matrix.column_start.size());
  std::int64_t kept = 0, begin = 0;
  for (std::int32_t column = 0; column < matrix.size; ++column) {
    const std::int64_t end = matrix.column_start[column + 1];
    for (std::int64_t at = std::exchange(begin, end); at < end; ++at) {
      if (component[matrix.row[at]] == component[column]) {
        matrix.row[kept] = matrix.row[at];
        matrix.value[kept++] = matrix.value[at];
      } else {
        between.row.push_back(matrix.row[at]);
        between.value.push_back(matrix.value[at]);
      }
    }
    matrix.column_start[column + 1] = kept;
    between.column_start.push_back(std::ssize(between.row));
  }
  matrix.row.resize(static_cast<std::size_t>(kept));
  matrix.value.resize(static_cast<std::size_t>(kept));
  split.inside = std::move(matrix);
  return split;
}

}  // namespace espalier::solver
