#include "solver/ordering/approximate_minimum_degree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr double kDense = 10;  // times sqrt(n) neighbours
constexpr std::int32_t kLeastDense = 16;
constexpr std::int32_t kPivotsAnAsk = 256;

// Vertices by degree: of one degree the one that came last is the first.
class DegreeLists {
 public:
  DegreeLists(std::int32_t vertices, std::int64_t degrees)
      : head_(degrees, kNobody), next_(vertices, kNobody), before_(vertices, kNobody) {}

  void insert(std::int32_t vertex, std::int32_t degree) {
    const std::int32_t first = std::exchange(head_[degree], vertex);
    next_[vertex] = first;
    before_[vertex] = kNobody;
    if (first != kNobody) before_[first] = vertex;
    least_ = std::min(least_, degree);
  }
  void remove(std::int32_t vertex, std::int32_t degree) {
    const std::int32_t after = next_[vertex], before = before_[vertex];
    if (after != kNobody) before_[after] = before;
    (before != kNobody ? next_[before] : head_[degree]) = after;
  }
  // There is one.
  [[nodiscard]] std::int32_t first() {
    while (head_[least_] == kNobody) ++least_;
    return head_[least_];
  }

 private:
  std::vector<std::int32_t> head_, next_, before_;
  std::int32_t least_ = 0;
};

// The graph of what is left. A vertex's list has its elements, then its neighbours; an
// element's its vertices. What is no vertex any more weighs nothing; a list may name it
// until it is looked at. Vertices of the element that is being made have their weight
// below zero.
class DegreeElimination {
 public:
  DegreeElimination(Graph&& graph, const Interrupt* ask);
  [[nodiscard]] std::vector<std::int32_t> run() &&;

 private:
  void postpone_dense(std::int64_t edge_ends);
  void eliminate(std::int32_t pivot);
  void make_element(std::int32_t pivot);
  void take_in(std::int32_t vertex, std::int64_t& to);
  void measure_outside(std::int32_t pivot);
  void shorten(std::int32_t vertex, std::int32_t pivot);
  void join_equal(std::int32_t pivot);
  void compare_bucket(std::int32_t first);
  [[nodiscard]] bool has_marked_list(std::int32_t vertex) const;
  void finish(std::int32_t pivot);
  void merge(std::int32_t vertex, std::int32_t into);
  void make_room(std::int64_t entries);
  [[nodiscard]] std::vector<std::int32_t> order() const;

  const std::int32_t size_;
  const Interrupt* ask_;
  std::vector<std::int64_t> start_;
  std::vector<std::int32_t> list_, weight_;
  std::vector<std::int32_t> length_, elements_;  // of a list, and the elements in it
  std::vector<std::int32_t> degree_;  // of a vertex; weight of an element's vertices
  std::vector<std::int8_t> element_;  // whether it is one that is part of no other
  std::int64_t end_ = 0;              // of the lists
  std::int64_t left_ = 0;             // weight
  DegreeLists by_degree_;

  std::int64_t stamp_ = 1;             // marks below it are nobody's
  std::vector<std::int64_t> mark_;     // of elements: stamp_ + weight outside the pivot's
  std::vector<std::int32_t> bucket_;   // of hashes: its first vertex
  std::vector<std::int32_t> in_bucket_;  // the next one
  std::vector<std::int32_t> hash_;

  // Vertices that are one: after each the next, and of the first the last.
  std::vector<std::int32_t> follower_, last_;
  std::vector<std::int32_t> pivots_, dense_;
};

DegreeElimination::DegreeElimination(Graph&& graph, const Interrupt* ask)
    : size_(graph.size()),
      ask_(ask),
      length_(size_),
      elements_(size_, 0),
      degree_(size_, 0),
      element_(size_, 0),
      left_(total_weight(graph)),
      by_degree_(size_, left_ + 1),
      mark_(size_, 0),
      bucket_(size_, kNobody),
      in_bucket_(size_, kNobody),
      hash_(size_),
      follower_(size_, kNobody),
      last_(size_) {
  for (std::int32_t v = 0; v < size_; ++v) {
    length_[v] = static_cast<std::int32_t>(graph.neighbours(v).size());
    last_[v] = v;
  }
  const std::int64_t edge_ends = graph.start.back();
  start_ = std::move(graph.start);
  list_ = std::move(graph.neighbour);
  weight_ = std::move(graph.weight);
  if (weight_.empty()) weight_.assign(size_, 1);
  postpone_dense(edge_ends);
  // An element has a vertex's place, or a new one for all that is left at most.
  list_.resize(edge_ends + edge_ends / 5 + size_);
  end_ = edge_ends;
  for (std::int32_t v = 0; v < size_; ++v) {
    if (weight_[v] == 0) continue;
    std::int64_t degree = 0;
    for (std::int64_t at = start_[v]; at < start_[v] + length_[v]; ++at)
      degree += weight_[list_[at]];
    degree_[v] = static_cast<std::int32_t>(degree);
    by_degree_.insert(v, degree_[v]);
  }
}

void DegreeElimination::postpone_dense(std::int64_t edge_ends) {
  const double most =
      std::max<double>(kLeastDense, kDense * std::sqrt(static_cast<double>(size_)));
  if (static_cast<double>(edge_ends) <= most) return;
  for (std::int32_t v = 0; v < size_; ++v)
    if (length_[v] > most) dense_.push_back(v);
  for (const std::int32_t v : dense_) left_ -= std::exchange(weight_[v], 0);
  std::ranges::stable_sort(dense_, {}, [&](std::int32_t v) { return length_[v]; });
}

// The lists stand one after the other again, where they would not leave so much room.
void DegreeElimination::make_room(std::int64_t entries) {
  if (end_ + entries <= std::ssize(list_)) return;
  std::vector<std::int32_t> owners;
  for (std::int32_t v = 0; v < size_; ++v)
    if (length_[v] > 0 && (weight_[v] != 0 || element_[v] != 0)) owners.push_back(v);
  std::ranges::sort(owners, {}, [&](std::int32_t v) { return start_[v]; });
  end_ = 0;
  for (const std::int32_t v : owners) {
    const auto from = list_.begin() + std::exchange(start_[v], end_);
    std::copy(from, from + length_[v], list_.begin() + end_);
    end_ += length_[v];
  }
  ESPALIER_ASSERT(end_ + entries <= std::ssize(list_), "lists never grow");
}

// Into the element that is being made, where it is not there.
void DegreeElimination::take_in(std::int32_t vertex, std::int64_t& to) {
  const std::int32_t weight = weight_[vertex];
  if (weight <= 0) return;
  weight_[vertex] = -weight;
  list_[to++] = vertex;
  by_degree_.remove(vertex, degree_[vertex]);
}

// 1.
void DegreeElimination::make_element(std::int32_t pivot) {
  by_degree_.remove(pivot, degree_[pivot]);
  weight_[pivot] = -weight_[pivot];
  std::int64_t begin = start_[pivot], to = begin;
  if (elements_[pivot] > 0) {
    std::int64_t most = length_[pivot] - elements_[pivot];
    for (std::int32_t k = 0; k < elements_[pivot]; ++k)
      most += length_[list_[start_[pivot] + k]];
    make_room(std::min<std::int64_t>(most, size_));
    begin = to = end_;
    for (std::int32_t k = 0; k < elements_[pivot]; ++k) {
      const std::int32_t element = list_[start_[pivot] + k];
      for (std::int32_t j = 0; j < length_[element]; ++j)
        take_in(list_[start_[element] + j], to);
      element_[element] = 0;
    }
  }
  const std::int64_t neighbours = start_[pivot] + elements_[pivot];
  const std::int64_t behind = start_[pivot] + length_[pivot];
  for (std::int64_t at = neighbours; at < behind; ++at) take_in(list_[at], to);
  if (elements_[pivot] > 0) end_ = to;
  start_[pivot] = begin;
  length_[pivot] = static_cast<std::int32_t>(to - begin);
  elements_[pivot] = 0;
  element_[pivot] = 1;
  std::int64_t weight = 0;
  for (std::int64_t at = begin; at < to; ++at) weight -= weight_[list_[at]];
  degree_[pivot] = static_cast<std::int32_t>(weight);
}

// What of each element is not in the new one.
void DegreeElimination::measure_outside(std::int32_t pivot) {
  for (std::int32_t k = 0; k < length_[pivot]; ++k) {
    const std::int32_t vertex = list_[start_[pivot] + k];
    for (std::int32_t j = 0; j < elements_[vertex]; ++j) {
      const std::int32_t element = list_[start_[vertex] + j];
      if (mark_[element] >= stamp_)
        mark_[element] += weight_[vertex];
      else if (element_[element] != 0)
        mark_[element] = stamp_ + degree_[element] + weight_[vertex];
    }
  }
}

// 2. and 3.: drops from a list what is in the new element, which is the first then.
void DegreeElimination::shorten(std::int32_t vertex, std::int32_t pivot) {
  const std::int64_t begin = start_[vertex], neighbours = begin + elements_[vertex];
  const std::int64_t behind = begin + length_[vertex];
  std::int64_t to = begin, outside = 0;
  std::uint32_t hash = 0;
  for (std::int64_t at = begin; at < neighbours; ++at) {
    const std::int32_t element = list_[at];
    if (element_[element] == 0) continue;
    const std::int64_t more = mark_[element] - stamp_;
    if (more == 0) {
      element_[element] = 0;
      continue;
    }
    outside += more;
    hash += static_cast<std::uint32_t>(element);
    list_[to++] = element;
  }
  const std::int64_t first_neighbour = to;
  for (std::int64_t at = neighbours; at < behind; ++at) {
    const std::int32_t other = list_[at];
    if (weight_[other] <= 0) continue;
    outside += weight_[other];
    hash += static_cast<std::uint32_t>(other);
    list_[to++] = other;
  }
  if (outside == 0) {
    left_ += weight_[vertex];
    degree_[pivot] += weight_[vertex];
    merge(vertex, pivot);
    return;
  }
  // An element or the pivot was in the list that is not now: there is room for one.
  list_[to++] = list_[first_neighbour];
  list_[first_neighbour] = list_[begin];
  list_[begin] = pivot;
  elements_[vertex] = static_cast<std::int32_t>(first_neighbour + 1 - begin);
  length_[vertex] = static_cast<std::int32_t>(to - begin);
  degree_[vertex] =
      static_cast<std::int32_t>(std::min<std::int64_t>(degree_[vertex], outside));
  hash_[vertex] = static_cast<std::int32_t>(hash % static_cast<std::uint32_t>(size_));
  in_bucket_[vertex] = std::exchange(bucket_[hash_[vertex]], vertex);
}

// Whose elements and neighbours are, but for the first, all marked.
bool DegreeElimination::has_marked_list(std::int32_t vertex) const {
  const auto first = list_.begin() + start_[vertex];
  return std::all_of(first + 1, first + length_[vertex],
                     [&](std::int32_t each) { return mark_[each] == stamp_; });
}

void DegreeElimination::compare_bucket(std::int32_t first) {
  for (std::int32_t a = first; in_bucket_[a] != kNobody; a = in_bucket_[a]) {
    for (std::int32_t k = 1; k < length_[a]; ++k) mark_[list_[start_[a] + k]] = stamp_;
    for (std::int32_t before = a, b = in_bucket_[a]; b != kNobody; b = in_bucket_[b]) {
      if (length_[b] == length_[a] && elements_[b] == elements_[a] &&
          has_marked_list(b)) {
        weight_[a] += weight_[b];
        merge(b, a);
        in_bucket_[before] = in_bucket_[b];
      } else {
        before = b;
      }
    }
    ++stamp_;
    if (in_bucket_[a] == kNobody) return;
  }
}

// 4.
void DegreeElimination::join_equal(std::int32_t pivot) {
  for (std::int32_t k = 0; k < length_[pivot]; ++k) {
    const std::int32_t vertex = list_[start_[pivot] + k];
    if (weight_[vertex] == 0) continue;
    const std::int32_t first = std::exchange(bucket_[hash_[vertex]], kNobody);
    if (first != kNobody) compare_bucket(first);
  }
}

void DegreeElimination::merge(std::int32_t vertex, std::int32_t into) {
  weight_[vertex] = 0;
  follower_[last_[into]] = vertex;
  last_[into] = last_[vertex];
}

// What is left of the element's vertices has degrees again.
void DegreeElimination::finish(std::int32_t pivot) {
  std::int64_t to = start_[pivot];
  for (std::int64_t at = to; at < start_[pivot] + length_[pivot]; ++at) {
    const std::int32_t vertex = list_[at];
    if (weight_[vertex] == 0) continue;
    list_[to++] = vertex;
    const std::int32_t weight = weight_[vertex] = -weight_[vertex];
    degree_[vertex] = static_cast<std::int32_t>(
        std::min<std::int64_t>(std::int64_t{degree_[vertex]} + degree_[pivot] - weight,
                               left_ - weight));
    by_degree_.insert(vertex, degree_[vertex]);
  }
  const bool is_last = start_[pivot] + length_[pivot] == end_;
  length_[pivot] = static_cast<std::int32_t>(to - start_[pivot]);
  if (is_last) end_ = to;
  if (length_[pivot] == 0) element_[pivot] = 0;
}

void DegreeElimination::eliminate(std::int32_t pivot) {
  make_element(pivot);
  left_ += weight_[pivot];
  measure_outside(pivot);
  for (std::int32_t k = 0; k < length_[pivot]; ++k)
    shorten(list_[start_[pivot] + k], pivot);
  stamp_ += left_ + 1;  // no mark is beyond all that is left
  join_equal(pivot);
  weight_[pivot] = 0;
  finish(pivot);
  pivots_.push_back(pivot);
}

std::vector<std::int32_t> DegreeElimination::order() const {
  std::vector<std::int32_t> order;
  order.reserve(size_);
  for (const std::int32_t pivot : pivots_)
    for (std::int32_t v = pivot; v != kNobody; v = follower_[v]) order.push_back(v);
  order.insert(order.end(), dense_.begin(), dense_.end());
  return order;
}

std::vector<std::int32_t> DegreeElimination::run() && {
  while (left_ > 0) {
    if (pivots_.size() % kPivotsAnAsk == 0 && ask_ != nullptr && *ask_) (*ask_)();
    eliminate(by_degree_.first());
  }
  return order();
}

}  // namespace

std::vector<std::int32_t> approximate_minimum_degree(Graph&& graph,
                                                     const Interrupt* ask) {
  return DegreeElimination(std::move(graph), ask).run();
}

}  // namespace espalier::solver
