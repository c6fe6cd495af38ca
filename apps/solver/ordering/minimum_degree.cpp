#include "solver/ordering/minimum_degree.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace espalier::solver {
namespace {

constexpr std::size_t kMostOutside = 1024;

// The place of a vertex in an increasing list; past its end: it is not there.
std::size_t place_in(std::span<const std::int32_t> list, std::int32_t vertex) {
  const auto at = std::ranges::lower_bound(list, vertex);
  return at != list.end() && *at == vertex ? at - list.begin() : list.size();
}

// Neighbours of the part outside it, increasing.
std::vector<std::int32_t> neighbours_outside(const Graph& graph,
                                             std::span<const std::int32_t> part) {
  std::vector<std::int32_t> outside;
  for (const std::int32_t v : part)
    for (const std::int32_t other : graph.neighbours(v))
      if (place_in(part, other) == part.size()) outside.push_back(other);
  std::ranges::sort(outside);
  outside.erase(std::unique(outside.begin(), outside.end()), outside.end());
  outside.resize(std::min(outside.size(), kMostOutside));
  return outside;
}

// The graph of what is not eliminated, a row of bits for each vertex of the part: its
// neighbours in the part, then those outside.
class QuotientGraph {
 public:
  QuotientGraph(const Graph& graph, std::span<const std::int32_t> part)
      : size_(part.size()) {
    const std::vector<std::int32_t> outside = neighbours_outside(graph, part);
    words_ = (size_ + outside.size() + 63) / 64;
    bits_.assign(size_ * words_, 0);
    for (std::size_t k = 0; k < size_; ++k)
      for (const std::int32_t other : graph.neighbours(part[k])) {
        std::size_t to = place_in(part, other);
        if (to == size_) to += place_in(outside, other);
        if (to < size_ + outside.size()) row(k)[to / 64] |= std::uint64_t{1} << to % 64;
      }
    if (graph.weight.empty() || part.empty()) return;
    for (const std::int32_t v : part) weight_.push_back(graph.weight[v]);
    for (const std::int32_t v : outside) weight_.push_back(graph.weight[v]);
    if (std::ranges::count(weight_, weight_.front()) == std::ssize(weight_))
      weight_.clear();
  }

  [[nodiscard]] std::int64_t degree(std::size_t k) const {
    std::int64_t sum = 0;
    for (std::size_t w = 0; w < words_; ++w) sum += std::popcount(row(k)[w]);
    if (weight_.empty()) return sum;
    sum = 0;
    for_each_bit(k, words_, [&](std::size_t to) { sum += weight_[to]; });
    return sum;
  }
  // Joins the neighbours of k; visit(each of them in the part) when that is done for it.
  template <class Visit>
  void eliminate(std::size_t k, Visit visit) {
    for_each_bit(k, (size_ + 63) / 64, [&](std::size_t to) {
      if (to >= size_) return;
      for (std::size_t w = 0; w < words_; ++w) row(to)[w] |= row(k)[w];
      row(to)[to / 64] &= ~(std::uint64_t{1} << to % 64);
      row(to)[k / 64] &= ~(std::uint64_t{1} << k % 64);
      visit(to);
    });
  }

 private:
  std::uint64_t* row(std::size_t k) { return &bits_[k * words_]; }
  [[nodiscard]] const std::uint64_t* row(std::size_t k) const {
    return &bits_[k * words_];
  }
  template <class Visit>
  void for_each_bit(std::size_t k, std::size_t words, Visit visit) const {
    for (std::size_t w = 0; w < words; ++w)
      for (std::uint64_t left = row(k)[w]; left != 0; left &= left - 1)
        visit(64 * w + std::countr_zero(left));
  }

  std::size_t size_, words_ = 0;
  std::vector<std::uint64_t> bits_;
  std::vector<std::int64_t> weight_;  // of the columns; empty: all are the same
};

}  // namespace

std::vector<std::int32_t> minimum_degree_order(const Graph& graph,
                                               std::span<const std::int32_t> part) {
  constexpr std::int64_t kGone = std::numeric_limits<std::int64_t>::max();
  QuotientGraph left(graph, part);
  std::vector<std::int64_t> degree(part.size());
  for (std::size_t k = 0; k < part.size(); ++k) degree[k] = left.degree(k);
  std::vector<std::int32_t> order;
  order.reserve(part.size());
  while (order.size() < part.size()) {
    const auto least = std::ranges::min_element(degree) - degree.begin();
    order.push_back(static_cast<std::int32_t>(least));
    degree[least] = kGone;
    left.eliminate(least, [&](std::size_t k) { degree[k] = left.degree(k); });
  }
  return order;
}

}  // namespace espalier::solver
