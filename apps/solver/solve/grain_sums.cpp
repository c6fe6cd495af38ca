#include "solver/solve/grain_sums.h"

#include <algorithm>

#include "solver/matrix/entry.h"

namespace espalier::solver {
namespace {

// Fronts are in postorder: the children of the grain that ends before `end` are the last
// of those that wait for a parent.
template <class Waiting, class FrontOf>
auto first_child(std::vector<Waiting>& pending, const Symbolic& symbolic,
                 std::int32_t end, const FrontOf& front_of) {
  auto first = pending.end();
  while (first != pending.begin() && symbolic.parent[front_of(first[-1])] < end) --first;
  return first;
}

}  // namespace

template <class T>
std::int64_t GrainSums<T>::entries(const Symbolic& symbolic,
                                   std::span<const IndexRange> grains) {
  struct Waiting {
    std::int32_t front;
    std::int64_t begin;  // of its vector
  };
  std::vector<Waiting> pending;
  std::int64_t top = 0, most = 0;
  for (const IndexRange& grain : grains) {
    const std::int32_t end = grain.end;
    const auto children = first_child(pending, symbolic, end,
                                      [](const Waiting& child) { return child.front; });
    const std::int64_t begin = children == pending.end() ? top : children->begin;
    const std::int64_t rows = std::ssize(symbolic.rows_of(end - 1));
    most = std::max(most, top + rows);
    top = begin + rows;
    pending.erase(children, pending.end());
    if (rows > 0) pending.push_back({end - 1, begin});
  }
  return most;
}

template <class T>
std::int64_t GrainSums<T>::most_rows(const Symbolic& symbolic,
                                     std::span<const IndexRange> grains) {
  std::int64_t most = 0;
  for (const IndexRange& grain : grains)
    most = std::max(most, std::ssize(symbolic.rows_of(grain.end - 1)));
  return most;
}

template <class T>
AncestorRows<T> GrainSums<T>::open(const IndexRange& grain,
                                   const std::optional<Vectors<T>>& out) {
  const std::int32_t last = grain.end - 1;
  const auto rows = symbolic_.rows_of(last);
  AncestorRows<T> ancestors{
      symbolic_.first_column[grain.end], rows, places_,
      out.value_or(Vectors<T>{stack_ + top_, std::ssize(rows), b_.count})};
  Vectors<T>& own = ancestors.out;
  const std::int64_t entries = own.stride * own.count;
  std::fill_n(own.data, entries, T{0});
  const auto children = first_child(pending_, symbolic_, grain.end,
                                    [](const Child& child) { return child.front; });
  T* place = stack_ + top_;
  for (auto child = children; child != pending_.end(); ++child) {
    ancestors.add(symbolic_.rows_of(child->front), child->sums, b_);
    if (child->on_stack) place = std::min(place, child->sums.data);
  }
  pending_.erase(children, pending_.end());
  if (out) return ancestors;
  if (place != own.data) std::copy_n(own.data, entries, place);
  own.data = place;
  top_ = place + entries - stack_;
  if (!rows.empty()) pending_.push_back({last, own, true});
  return ancestors;
}

#define ESPALIER_INSTANTIATE(T) template class GrainSums<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
