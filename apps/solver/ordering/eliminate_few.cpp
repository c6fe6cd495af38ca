#include "solver/ordering/eliminate_few.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <memory>
#include <utility>

#include "espalier/model/error.h"
#include "solver/matrix/multiversion.h"
#include "solver/matrix/permute.h"

namespace espalier::solver {
namespace {

constexpr int kBits = 64;
using Degree = std::uint16_t;

// A set of vertices.
template <int kWords>
struct Bits {
  std::array<std::uint64_t, kWords> word{};

  [[gnu::always_inline]] void add(std::int32_t v) {
    word[v / kBits] |= std::uint64_t{1} << v % kBits;
  }
  [[gnu::always_inline]] void remove(std::int32_t v) {
    word[v / kBits] &= ~(std::uint64_t{1} << v % kBits);
  }
  [[nodiscard, gnu::always_inline]] Bits without(const Bits& other) const {
    Bits result;
    for (int w = 0; w < kWords; ++w) result.word[w] = word[w] & ~other.word[w];
    return result;
  }
  [[nodiscard, gnu::always_inline]] Bits both(const Bits& other) const {
    Bits result;
    for (int w = 0; w < kWords; ++w) result.word[w] = word[w] & other.word[w];
    return result;
  }
  [[nodiscard, gnu::always_inline]] Bits with(const Bits& other) const {
    Bits result;
    for (int w = 0; w < kWords; ++w) result.word[w] = word[w] | other.word[w];
    return result;
  }
  [[nodiscard, gnu::always_inline]] std::int32_t count() const {
    std::int32_t sum = 0;
    for (const std::uint64_t each : word) sum += std::popcount(each);
    return sum;
  }
  // Unlike sets mostly differ in it.
  [[nodiscard, gnu::always_inline]] std::uint64_t folded() const {
    std::uint64_t all = 0;
    for (const std::uint64_t each : word) all ^= each;
    return all;
  }
  template <class Visit>
  [[gnu::always_inline]] void each(const Visit& visit) const {
    for (int w = 0; w < kWords; ++w)
      for (std::uint64_t left = word[w]; left != 0; left &= left - 1)
        visit(kBits * w + std::countr_zero(left));
  }
  friend bool operator==(const Bits&, const Bits&) = default;
};

// What is left to eliminate. A vertex that has the same neighbours as an earlier one is
// that one's twin and no more looked at.
template <int kWords>
class EliminationGraph {
 public:
  using Set = Bits<kWords>;

  [[gnu::always_inline]] explicit EliminationGraph(const SymmetricMatrix& matrix)
      : size_(matrix.size) {
    degree_.fill(kGone);
    for (std::int32_t v = 0; v < size_; ++v) {
      closed_[v].add(v);
      twins_[v].add(v);
      first_.add(v);
    }
    for (std::int32_t j = 0; j < size_; ++j)
      for (auto k = matrix.column_start[j]; k < matrix.column_start[j + 1]; ++k) {
        closed_[j].add(matrix.row[k]);
        closed_[matrix.row[k]].add(j);
      }
    for (std::int32_t v = 0; v < size_; ++v)
      degree_[v] = static_cast<Degree>(closed_[v].count() - 1);
  }

  // The first vertex of the least degree: of the first word that has one.
  [[nodiscard, gnu::always_inline]] std::int32_t least() const {
    std::array<Degree, kWords> of_word;
    for (int w = 0; w < kWords; ++w) {
      Degree least = kGone;
      for (int k = 0; k < kBits; ++k) least = std::min(least, degree_[kBits * w + k]);
      of_word[w] = least;
    }
    int best = 0;
    for (int w = 1; w < kWords; ++w)
      if (of_word[w] < of_word[best]) best = w;
    std::int32_t first = kBits * best;
    while (degree_[first] != of_word[best]) ++first;
    return first;
  }
  [[nodiscard]] const Set& twins(std::int32_t v) const { return twins_[v]; }

  // @return the neighbours of v and its twins, which go
  [[gnu::always_inline]] Set eliminate(std::int32_t v) {
    const Set gone = twins_[v], neighbours = closed_[v].without(gone);
    first_ = first_.without(gone);
    degree_[v] = kGone;
    std::array<std::int32_t, kWords * kBits> changed;
    std::array<std::uint64_t, kWords * kBits> mark;  // equal sets have equal ones
    int count = 0;
    neighbours.both(first_).each([&](std::int32_t u) {
      closed_[u] = closed_[u].with(neighbours).without(gone);
      mark[count] = closed_[u].folded();
      for (int k = 0; k < count; ++k)
        if (mark[k] == mark[count] && closed_[changed[k]] == closed_[u])
          return join(changed[k], u);
      changed[count++] = u;
    });
    for (int k = 0; k < count; ++k) {
      const std::int32_t u = changed[k];
      degree_[u] = static_cast<Degree>(closed_[u].without(twins_[u]).count());
    }
    return neighbours;
  }

 private:
  static constexpr Degree kGone = std::numeric_limits<Degree>::max();

  [[gnu::always_inline]] void join(std::int32_t first, std::int32_t twin) {
    twins_[first] = twins_[first].with(twins_[twin]);
    first_.remove(twin);
    degree_[twin] = kGone;
  }

  std::int32_t size_;
  std::array<Set, kWords * kBits> closed_{};  // a vertex and its neighbours
  std::array<Set, kWords * kBits> twins_{};   // of one that is no twin: itself and those
  Set first_{};                               // neither gone nor twins
  std::array<Degree, kWords * kBits> degree_{};  // external; kGone: not in first_
};

// The elimination tree in the order of elimination, not yet in postorder.
struct Elimination {
  std::vector<std::int32_t> order, parent, counts;
};

template <int kWords>
struct Room {
  [[gnu::always_inline]] explicit Room(const SymmetricMatrix& matrix) : graph(matrix) {}

  EliminationGraph<kWords> graph;
  std::array<Bits<kWords>, kWords * kBits> rows;  // below, of a column that ends a group
  std::array<std::int32_t, kWords * kBits> position;
};

template <int kWords>
[[gnu::always_inline]] inline Elimination eliminate_all(const SymmetricMatrix& matrix,
                                                        Room<kWords>& room) {
  auto& [graph, rows, position] = room;
  Elimination result;
  const auto n = static_cast<std::size_t>(matrix.size);
  result.order.reserve(n);
  result.parent.reserve(n);
  result.counts.reserve(n);
  while (result.order.size() < n) {
    const std::int32_t v = graph.least();
    const Bits<kWords> group = graph.twins(v), below = graph.eliminate(v);
    std::int32_t count = group.count() + below.count();
    group.each([&](std::int32_t u) {
      const auto k = static_cast<std::int32_t>(result.order.size());
      position[u] = k;
      result.order.push_back(u);
      result.parent.push_back(k + 1);
      result.counts.push_back(count--);
    });
    result.parent.back() = -1;
    rows[result.order.size() - 1] = below;
  }
  for (std::size_t k = 0; k < n; ++k) {
    if (result.parent[k] >= 0) continue;
    std::int32_t first = matrix.size;
    rows[k].each([&](std::int32_t u) { first = std::min(first, position[u]); });
    result.parent[k] = first < matrix.size ? first : -1;
  }
  return result;
}

template <int kWords>
[[gnu::always_inline]] inline Elimination eliminate_here(const SymmetricMatrix& matrix) {
  Room<kWords> room(matrix);
  return eliminate_all<kWords>(matrix, room);
}

// Too much room for the stack of any thread.
template <int kWords>
[[gnu::always_inline]] inline Elimination eliminate_apart(const SymmetricMatrix& matrix) {
  const auto room = std::make_unique<Room<kWords>>(matrix);
  return eliminate_all<kWords>(matrix, *room);
}

// To count bits is one instruction on all but the oldest processors.
ESPALIER_MULTIVERSION Elimination eliminate_any(const SymmetricMatrix& matrix) {
  const std::int32_t words = (matrix.size + kBits - 1) / kBits;
  return words <= 1   ? eliminate_here<1>(matrix)
         : words <= 2 ? eliminate_here<2>(matrix)
         : words <= 4 ? eliminate_apart<4>(matrix)
         : words <= 8 ? eliminate_apart<8>(matrix)
                      : eliminate_apart<16>(matrix);
}

}  // namespace

EliminationOrder eliminate_few(const SymmetricMatrix& matrix) {
  ESPALIER_ASSERT(matrix.size <= kFewColumns, "few columns");
  const Elimination found = eliminate_any(matrix);
  PostorderedForest forest = postordered(found.parent);
  EliminationOrder result;
  result.permutation = composed(found.order, forest.order);
  result.counts = composed(found.counts, forest.order);
  result.parent = std::move(forest.parent);
  for (const double count : result.counts) result.flops += count * count;
  result.rows = permuted_rows(matrix, result.permutation);
  return result;
}

}  // namespace espalier::solver
