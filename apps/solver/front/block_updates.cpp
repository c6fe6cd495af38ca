#include "solver/front/block_updates.h"

#include <span>
#include <vector>

#include "solver/kernels/update.h"
#include "solver/matrix/entry.h"

namespace espalier::solver {

template <class T>
void join_diagonal(const BlockColumn<T>& column) {
  const std::int64_t leading = column.leading;
  for (std::int32_t j = 0; j < column.width; ++j)
    for (std::int32_t i = j + 1; i < column.width; ++i)
      column.data[0][j + i * leading] = column.data[1][i + j * leading];
}

template <class T>
void update_diagonal(FactorKind kind, const BlockTile<T>& to,
                     const FactoredColumns<T>& by, std::int32_t rows,
                     const WorkerScratch& scratch) {
  const auto& [lower, upper, leading] = by.right;
  switch (kind) {
    case FactorKind::kCholesky:
      kernels::update_lower(rows, to.width, by.count, lower, leading, to.data[0],
                            to.leading());
      return;
    case FactorKind::kLdlt: {
      std::vector<T> large;  // the tail may have more columns than a block
      const std::span<T> scaled =
          scratch.template at_least<T>(std::int64_t{to.width} * by.count, large);
      kernels::update_lower_ldlt(rows, to.width, by.count, lower, leading, by.d,
                                 to.data[0], to.leading(), scaled);
      return;
    }
    case FactorKind::kLu:
      kernels::update_lower_product(rows, to.width, by.count, lower, leading, upper,
                                    leading, to.data[0], to.leading());
      kernels::update_lower_product(rows, to.width, by.count, upper, leading, lower,
                                    leading, to.data[1], to.leading());
  }
}

template <class T>
void update_rows(FactorKind kind, const BlockTile<T>& to, std::int32_t begin,
                 std::int32_t rows, const FactoredColumns<T>& by,
                 const WorkerScratch& scratch) {
  const auto& [left, right, count, d] = by;
  switch (kind) {
    case FactorKind::kCholesky:
      kernels::update_general(rows, to.width, count, left.lower, left.leading,
                              right.lower, right.leading, to.row(0, begin), to.leading());
      return;
    case FactorKind::kLdlt: {
      std::vector<T> large;
      const std::span<T> scaled =
          scratch.template at_least<T>(std::int64_t{to.width} * count, large);
      kernels::multiply_by_d(to.width, count, right.lower, right.leading, d,
                             scaled.data(), to.width);
      kernels::update_general(rows, to.width, count, left.lower, left.leading,
                              scaled.data(), to.width, to.row(0, begin), to.leading());
      return;
    }
    case FactorKind::kLu:
      kernels::update_general(rows, to.width, count, left.lower, left.leading,
                              right.upper, right.leading, to.row(0, begin), to.leading());
      kernels::update_general(rows, to.width, count, left.upper, left.leading,
                              right.lower, right.leading, to.row(1, begin), to.leading());
  }
}

#define ESPALIER_INSTANTIATE(T)                                                          \
  template void join_diagonal(const BlockColumn<T>&);                                    \
  template void update_diagonal(FactorKind, const BlockTile<T>&,                         \
                                const FactoredColumns<T>&, std::int32_t,                 \
                                const WorkerScratch&);                                   \
  template void update_rows(FactorKind, const BlockTile<T>&, std::int32_t, std::int32_t, \
                            const FactoredColumns<T>&, const WorkerScratch&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
