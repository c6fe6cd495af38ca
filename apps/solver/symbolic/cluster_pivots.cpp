#include "solver/symbolic/cluster_pivots.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <vector>

#include "solver/matrix/permute.h"
#include "solver/ordering/graph.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kUnseen = std::numeric_limits<std::int32_t>::max();
// Neighbours of a vertex through which others are reached: of a dense row only the first.
constexpr std::size_t kMostNeighbours = 128;

// The pivots of a front, numbered from 0, adjacent at a distance of one or two.
Graph near_graph(const Graph& graph, std::span<const std::int32_t> vertices,
                 std::vector<std::int32_t>& number) {
  const auto n = static_cast<std::int32_t>(vertices.size());
  for (std::int32_t k = 0; k < n; ++k) number[vertices[k]] = k;
  Graph near;
  near.start.assign(1, 0);
  std::vector<std::int32_t> seen_by(vertices.size(), -1);
  const auto few = [&graph](std::int32_t vertex) {
    const auto all = graph.neighbours(vertex);
    return all.first(std::min(all.size(), kMostNeighbours));
  };
  for (std::int32_t k = 0; k < n; ++k) {
    seen_by[k] = k;
    const auto visit = [&](std::int32_t vertex) {
      const std::int32_t other = number[vertex];
      if (other < 0 || seen_by[other] == k) return;
      seen_by[other] = k;
      near.neighbour.push_back(other);
    };
    for (const std::int32_t beside : few(vertices[k])) {
      visit(beside);
      for (const std::int32_t next : few(beside)) visit(next);
    }
    near.start.push_back(static_cast<std::int64_t>(near.neighbour.size()));
  }
  for (const std::int32_t vertex : vertices) number[vertex] = -1;
  return near;
}

/// Bisects the vertices of a graph by distances.
class Bisection {
 public:
  explicit Bisection(const Graph& graph)
      : graph_(graph),
        part_(graph.size(), 0),
        from_first_(graph.size()),
        from_second_(graph.size()) {}

  // The vertices in clusters of `size`, halves of whole clusters next to each other.
  [[nodiscard]] std::vector<std::int32_t> clusters(std::int32_t size) {
    std::vector<std::int32_t> order(graph_.size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<std::span<std::int32_t>> open = {order};
    while (!open.empty()) {
      const std::span<std::int32_t> part = open.back();
      open.pop_back();
      const auto count = static_cast<std::int32_t>(part.size());
      if (count <= size) {
        std::sort(part.begin(), part.end());
        continue;
      }
      sort_along(part);
      const std::int32_t half = (count + size - 1) / size / 2 * size;
      open.push_back(part.first(half));
      open.push_back(part.subspan(half));
    }
    return order;
  }

 private:
  // Breadth first inside a part. @return the vertex reached last
  std::int32_t measure(std::int32_t start, std::span<const std::int32_t> part,
                       std::vector<std::int32_t>& distance) {
    for (const std::int32_t vertex : part) distance[vertex] = kUnseen;
    queue_.assign(1, start);
    distance[start] = 0;
    for (std::size_t next = 0; next < queue_.size(); ++next)
      for (const std::int32_t other : graph_.neighbours(queue_[next]))
        if (part_[other] == number_ && distance[other] == kUnseen) {
          distance[other] = distance[queue_[next]] + 1;
          queue_.push_back(other);
        }
    return queue_.back();
  }

  // From one of two vertices far from each other to the other.
  void sort_along(std::span<std::int32_t> part) {
    ++number_;
    for (const std::int32_t vertex : part) part_[vertex] = number_;
    const std::int32_t first = measure(part.front(), part, from_first_);
    const std::int32_t second = measure(first, part, from_first_);
    measure(second, part, from_second_);
    const auto key = [&](std::int32_t vertex) {
      return from_first_[vertex] == kUnseen ? kUnseen
                                            : from_first_[vertex] - from_second_[vertex];
    };
    std::sort(part.begin(), part.end(), [&](std::int32_t a, std::int32_t b) {
      return std::pair(key(a), a) < std::pair(key(b), b);
    });
  }

  const Graph& graph_;
  std::int32_t number_ = 0;         // of the part that is being cut
  std::vector<std::int32_t> part_;  // that a vertex was in last
  std::vector<std::int32_t> from_first_, from_second_, queue_;
};

// The rows of each front in the new numbers, increasing.
void renumber_rows(const std::vector<std::int32_t>& number, Symbolic& symbolic) {
  for (std::int32_t& row : symbolic.rows) row = number[row];
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s)
    std::sort(symbolic.rows.begin() + symbolic.row_start[s],
              symbolic.rows.begin() + symbolic.row_start[s + 1]);
}

}  // namespace

void cluster_pivots(const SymmetricMatrix& given, const ClusterOptions& options,
                    Symbolic& symbolic) {
  std::vector<std::int32_t> moved(symbolic.size);  // moved[new] = number until now
  std::iota(moved.begin(), moved.end(), 0);
  std::vector<std::int32_t> number(given.size, -1);
  Graph graph;
  for (std::int32_t s = 0; s < symbolic.fronts(); ++s) {
    const std::int32_t first = symbolic.first_column[s], pivots = symbolic.pivots(s);
    if (pivots < options.least_pivots || pivots <= options.size) continue;
    if (graph.start.empty()) graph = adjacency(given);
    const std::span vertices(symbolic.permutation.data() + first,
                             static_cast<std::size_t>(pivots));
    const Graph near = near_graph(graph, vertices, number);
    const auto order = Bisection(near).clusters(options.size);
    for (std::int32_t k = 0; k < pivots; ++k) moved[first + k] = first + order[k];
  }
  if (graph.start.empty()) return;
  symbolic.permutation = composed(symbolic.permutation, moved);
  renumber_rows(inverse_permutation(moved), symbolic);
}

}  // namespace espalier::solver
