#include "solver/solve/ancestor_rows.h"

#include <algorithm>

#include "solver/matrix/entry.h"
#include "solver/symbolic/gallop.h"

namespace espalier::solver {

template <class T>
std::int32_t AncestorRows<T>::find_places(std::span<const std::int32_t> of_front) const {
  const auto all = static_cast<std::int32_t>(of_front.size());
  if (all == 0 || of_front.back() < limit) return all;
  const auto inside = std::ranges::lower_bound(of_front, limit) - of_front.begin();
  std::size_t at = 0;
  std::int32_t* to = place;
  for (const std::int32_t row : of_front.subspan(static_cast<std::size_t>(inside))) {
    at = gallop(rows, at, row);
    *to++ = static_cast<std::int32_t>(at);
  }
  return static_cast<std::int32_t>(inside);
}

template <class T>
void AncestorRows<T>::add(std::span<const std::int32_t> of_front,
                          const Vectors<T>& values, const Vectors<T>& b) const {
  const std::int32_t below = find_places(of_front);
  const auto beyond = static_cast<std::int32_t>(of_front.size()) - below;
  for (std::int32_t v = 0; v < b.count; ++v) {
    const T* const value = values.data + v * values.stride;
    T* const inside = b.data + v * b.stride;
    T* const outside = out.data + v * out.stride;
    for (std::int32_t k = 0; k < below; ++k) inside[of_front[k]] += value[k];
    for (std::int32_t k = 0; k < beyond; ++k) outside[place[k]] += value[below + k];
  }
}

#define ESPALIER_INSTANTIATE(T) template struct AncestorRows<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
