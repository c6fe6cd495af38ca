#include "solver/scaling/symmetric_matching.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "espalier/model/numbers.h"
#include "solver/matrix/general_matrix.h"
#include "solver/scaling/matching.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNoNumber = -1;

// The entry (row, column) of both triangles, scaled.
double scaled(const GeneralMatrix& both, const std::vector<double>& log, std::int32_t row,
              std::int32_t column) {
  const auto first = both.row.begin() + both.column_start[column];
  const auto last = both.row.begin() + both.column_start[column + 1];
  const auto found = std::lower_bound(first, last, row);
  if (found == last || *found != row) return 0;
  return both.value[found - both.row.begin()] * std::exp2(log[row]) *
         std::exp2(log[column]);
}

// Cuts the cycles of the matching into pairs.
class CyclePairs {
 public:
  CyclePairs(const GeneralMatrix& both, const std::vector<double>& log, double weak)
      : both_(both), log_(log), weak_(weak), partner_(both.size) {
    std::iota(partner_.begin(), partner_.end(), 0);
    diagonal_.resize(both.size);
    for (std::int32_t k = 0; k < both.size; ++k) diagonal_[k] = scaled(both, log, k, k);
  }

  std::vector<std::int32_t> cut(const std::vector<std::int32_t>& row_of_column) && {
    std::vector<bool> seen(row_of_column.size(), false);
    for (std::int32_t start = 0; start < both_.size; ++start) {
      cycle_.clear();
      for (auto k = start; !seen[k]; k = row_of_column[k]) {
        seen[k] = true;
        cycle_.push_back(k);
      }
      if (cycle_.size() > 1) pair_neighbours();
    }
    return std::move(partner_);
  }

 private:
  void pair_neighbours() {
    if (cycle_.size() % 2 == 1) {
      const auto alone =
          std::max_element(cycle_.begin(), cycle_.end(), [this](auto a, auto b) {
            return std::abs(diagonal_[a]) < std::abs(diagonal_[b]);
          });
      std::rotate(cycle_.begin(), alone + 1, cycle_.end());
      cycle_.pop_back();
    } else if (cycle_.size() > 2) {
      const double kept = determinants();
      std::rotate(cycle_.begin(), cycle_.begin() + 1, cycle_.end());
      if (determinants() <= kept) {
        std::rotate(cycle_.begin(), cycle_.end() - 1, cycle_.end());
      }
    }
    for (std::size_t k = 0; k < cycle_.size(); k += 2) {
      const double least =
          std::min(std::abs(diagonal_[cycle_[k]]), std::abs(diagonal_[cycle_[k + 1]]));
      if (least >= weak_) continue;
      partner_[cycle_[k]] = cycle_[k + 1];
      partner_[cycle_[k + 1]] = cycle_[k];
    }
  }

  // Sum of the moduli over the pairs of the cycle.
  [[nodiscard]] double determinants() const {
    double sum = 0;
    for (std::size_t k = 0; k < cycle_.size(); k += 2) {
      const auto i = cycle_[k], j = cycle_[k + 1];
      const double off = scaled(both_, log_, i, j);
      sum += std::abs(diagonal_[i] * diagonal_[j] - off * off);
    }
    return sum;
  }

  const GeneralMatrix& both_;
  const std::vector<double>& log_;
  const double weak_;
  std::vector<std::int32_t> partner_;
  std::vector<double> diagonal_;  // scaled
  std::vector<std::int32_t> cycle_;
};

SymmetricMatching with_pairs(const GeneralMatrix& both, const Matching& matching,
                             double weak) {
  SymmetricMatching result;
  result.rank = matching.rank;
  result.log.resize(both.size);
  for (std::int32_t k = 0; k < both.size; ++k) {
    result.log[k] = (matching.row_log[k] + matching.column_log[k]) / 2;
  }
  result.partner = CyclePairs(both, result.log, weak).cut(matching.row_of_column);
  return result;
}

// Rows and columns `kept`, which are increasing.
GeneralMatrix principal_part(const GeneralMatrix& both,
                             const std::vector<std::int32_t>& kept) {
  std::vector<std::int32_t> number(both.size, kNoNumber);
  GeneralMatrix part;
  for (std::int32_t index : kept) number[index] = part.size++;
  part.column_start.assign(1, 0);
  for (std::int32_t column : kept) {
    for (auto at = both.column_start[column]; at < both.column_start[column + 1]; ++at) {
      if (number[both.row[at]] == kNoNumber) continue;
      part.row.push_back(number[both.row[at]]);
      part.value.push_back(both.value[at]);
    }
    part.column_start.push_back(static_cast<std::int64_t>(part.row.size()));
  }
  return part;
}

// No two of the columns that are not kept have an entry in common: it could be matched.
void scale_others(const GeneralMatrix& both, const std::vector<bool>& is_kept,
                  std::vector<double>& log) {
  for (std::int32_t column = 0; column < both.size; ++column) {
    if (is_kept[column]) continue;
    double most = -kInfinity;
    for (auto at = both.column_start[column]; at < both.column_start[column + 1]; ++at) {
      if (!is_kept[both.row[at]]) continue;
      most = std::max(most, std::log2(std::abs(both.value[at])) + log[both.row[at]]);
    }
    if (most > -kInfinity) log[column] = -most;
  }
}

SymmetricMatching of_singular(const GeneralMatrix& both, const Matching& matching,
                              double weak, const std::function<void()>& ask) {
  std::vector<bool> is_kept(both.size, false);
  std::vector<std::int32_t> kept;
  for (std::int32_t column = 0; column < both.size; ++column) {
    if (matching.matched[column]) is_kept[matching.row_of_column[column]] = true;
  }
  SymmetricMatching result;
  for (std::int32_t row = 0; row < both.size; ++row)
    (is_kept[row] ? kept : result.unmatched).push_back(row);
  const GeneralMatrix part = principal_part(both, kept);
  const SymmetricMatching inner =
      with_pairs(part, maximum_product_matching(part, ask), weak);
  result.rank = matching.rank;
  result.partner.resize(both.size);
  std::iota(result.partner.begin(), result.partner.end(), 0);
  result.log.assign(both.size, 0.0);
  for (std::int32_t k = 0; k < part.size; ++k) {
    result.partner[kept[k]] = kept[inner.partner[k]];
    result.log[kept[k]] = inner.log[k];
  }
  scale_others(both, is_kept, result.log);
  return result;
}

}  // namespace

SymmetricMatching symmetric_matching(const SymmetricMatrix& matrix, double weak_diagonal,
                                     const std::function<void()>& ask) {
  const GeneralMatrix both = expanded(matrix);
  const Matching matching = maximum_product_matching(both, ask);
  return matching.rank == matrix.size ? with_pairs(both, matching, weak_diagonal)
                                      : of_singular(both, matching, weak_diagonal, ask);
}

}  // namespace espalier::solver
