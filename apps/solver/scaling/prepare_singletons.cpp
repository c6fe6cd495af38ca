#include "solver/scaling/prepare_singletons.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "solver/scaling/scaling.h"
#include "solver/scaling/symmetric_matching.h"
#include "solver/scaling/symmetric_singletons.h"

namespace espalier::solver {
namespace {

constexpr std::size_t kLeastPart = 4;  // of the variables are in pairs: a quarter

// Whether a row has one entry, off the diagonal: those on it count twice.
bool may_have_singletons(const SymmetricMatrix& lower) {
  std::vector<std::int32_t> entries(lower.size, 0);
  for (std::int32_t j = 0; j < lower.size; ++j)
    for (auto at = lower.column_start[j]; at < lower.column_start[j + 1]; ++at) {
      ++entries[j];
      ++entries[lower.row[at]];
    }
  return std::ranges::find(entries, 1) != entries.end();
}

// Rows and columns `kept`, which are increasing.
SymmetricMatrix principal_part(const SymmetricMatrix& lower,
                               const std::vector<std::int32_t>& kept) {
  std::vector<std::int32_t> number(lower.size, -1);
  SymmetricMatrix part;
  for (const std::int32_t each : kept) number[each] = part.size++;
  part.column_start.assign(1, 0);
  for (const std::int32_t column : kept) {
    for (auto at = lower.column_start[column]; at < lower.column_start[column + 1]; ++at)
      if (number[lower.row[at]] >= 0) {
        part.row.push_back(number[lower.row[at]]);
        part.value.push_back(lower.value[at]);
      }
    part.column_start.push_back(std::ssize(part.row));
  }
  return part;
}

// The matrix with the rows of pairs exchanged, scaled, in its parts.
class Exchanged {
 public:
  Exchanged(const GeneralMatrix& both, const std::vector<std::int32_t>& partner,
            const std::vector<double>& scale)
      : both_(both), partner_(partner), scale_(scale) {
    blocks.size = coupling.size = both.size;
    blocks.column_start.assign(1, 0);
    coupling.column_start.assign(1, 0);
    reserve(blocks);
    reserve(coupling);
    for (std::int32_t column = 0; column < both.size; ++column) place_column(column);
  }

  SymmetricMatrix blocks;
  GeneralMatrix coupling;
  bool in_range = true;

 private:
  void place_column(std::int32_t column) {
    const bool left = partner_[column] == column;
    for (auto at = both_.column_start[column]; at < both_.column_start[column + 1];
         ++at) {
      const std::int32_t row = both_.row[at], place = partner_[row];
      const double value = both_.value[at] * (scale_[row] * scale_[column]);
      in_range = in_range && (both_.value[at] == 0 || std::isnormal(value));
      const bool inside = place == column || (left && place == row);
      if (!inside)
        append(coupling, place, value);
      else if (place >= column)
        append(blocks, place, value);
    }
    blocks.column_start.push_back(std::ssize(blocks.row));
    coupling.column_start.push_back(std::ssize(coupling.row));
  }

  // As many entries as there are: what is not used is not resident.
  template <class Matrix>
  void reserve(Matrix& matrix) const {
    matrix.column_start.reserve(both_.column_start.size());
    matrix.row.reserve(both_.row.size());
    matrix.value.reserve(both_.row.size());
  }

  template <class Matrix>
  static void append(Matrix& matrix, std::int32_t row, double value) {
    matrix.row.push_back(row);
    matrix.value.push_back(value);
  }

  const GeneralMatrix& both_;
  const std::vector<std::int32_t>& partner_;
  const std::vector<double>& scale_;
};

}  // namespace

bool prepare_singletons(PreparedMatrix& prepared, double weak_diagonal,
                        const std::function<void()>& ask) {
  const SymmetricMatrix& lower = prepared.matrix.lower;
  if (!may_have_singletons(lower)) return false;
  const GeneralMatrix both = expanded(lower);
  SymmetricSingletons singletons = symmetric_singletons(both);
  const auto size = static_cast<std::size_t>(both.size);
  if (2 * singletons.row.size() * kLeastPart < size || singletons.row.empty())
    return false;
  std::vector<std::int32_t> left, partner(size);
  std::iota(partner.begin(), partner.end(), 0);
  for (const std::int32_t each : partner)
    if (singletons.partner[each] == each) left.push_back(each);
  const SymmetricMatching matching =
      symmetric_matching(principal_part(lower, left), weak_diagonal, ask);
  if (matching.rank < std::ssize(left)) return false;
  std::vector<double> log(size, 0.0);
  for (std::size_t k = 0; k < left.size(); ++k) {
    log[left[k]] = matching.log[k];
    partner[left[k]] = left[matching.partner[k]];
  }
  scale_singletons(both, singletons, log);
  const std::vector<double> scale = powers_of_two(log);
  Exchanged parts(both, singletons.partner, scale);
  if (!parts.in_range) return false;
  prepared.matrix.lower = std::move(parts.blocks);
  if (!parts.coupling.row.empty()) prepared.coupling = {std::move(parts.coupling)};
  prepared.row_scale = prepared.column_scale = scale;
  prepared.row_of = std::move(singletons.partner);
  if (!std::ranges::is_sorted(partner)) prepared.partner = std::move(partner);
  return true;
}

}  // namespace espalier::solver
