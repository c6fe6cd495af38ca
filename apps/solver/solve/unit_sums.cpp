#include "solver/solve/unit_sums.h"

#include <algorithm>

namespace espalier::solver {
namespace {

// Of places, as long as the longest vector, in entries of so many bytes.
std::int64_t place_entries(const std::vector<std::int64_t>& start, std::int64_t bytes) {
  std::int64_t most = 0;
  for (std::size_t unit = 1; unit < start.size(); ++unit)
    most = std::max(most, start[unit] - start[unit - 1]);
  return (most * std::int64_t{sizeof(std::int32_t)} + bytes - 1) / bytes;
}

}  // namespace

std::vector<std::int64_t> sum_starts(const Symbolic& symbolic, const AssemblyTree& tree,
                                     std::span<const std::int8_t> forest) {
  std::vector<std::int64_t> start(1, 0);
  start.reserve(tree.units.size() + 1);
  for (std::size_t unit = 0; unit < tree.units.size(); ++unit) {
    const bool here = forest.empty() || forest[unit] != 0;
    start.push_back(start.back() +
                    (here ? std::ssize(symbolic.rows_of(tree.units[unit].end - 1)) : 0));
  }
  return start;
}

template <class T>
std::int64_t UnitSums<T>::entries(const Symbolic& symbolic, const AssemblyTree& tree,
                                  std::int32_t count) {
  if (tree.units.size() <= 1) return 0;
  const std::vector<std::int64_t> start = sum_starts(symbolic, tree);
  return start.back() * count + place_entries(start, sizeof(T));
}

template <class T>
UnitSums<T>::UnitSums(const Symbolic& symbolic, const AssemblyTree& tree,
                      const Vectors<T>& b, std::span<T> memory)
    : symbolic_(symbolic), units_(tree.units), b_(b), memory_(memory.data()) {
  if (units_.size() <= 1) return;
  start_ = sum_starts(symbolic, tree);
  places_ = reinterpret_cast<std::int32_t*>(memory_ + start_.back() * b.count);
}

template <class T>
AncestorRows<T> UnitSums<T>::open(std::size_t unit) {
  if (units_.size() <= 1) return {};
  const std::int32_t end = units_[unit].end, parent = symbolic_.parent[end - 1];
  const Vectors<T> own = sums(unit);
  std::fill_n(own.data, own.stride * own.count, T{0});
  const AncestorRows<T> ancestors{symbolic_.first_column[end], rows_of(unit), places_,
                                  own};
  // Fronts are in postorder: the children are the last ones.
  auto first = pending_.end();
  while (first != pending_.begin() && symbolic_.parent[units_[first[-1]].end - 1] < end)
    --first;
  for (auto child = first; child != pending_.end(); ++child)
    ancestors.add(rows_of(*child), sums(*child), b_);
  pending_.erase(first, pending_.end());
  if (parent >= 0) pending_.push_back(unit);
  return ancestors;
}

#define ESPALIER_INSTANTIATE(T) template class UnitSums<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
