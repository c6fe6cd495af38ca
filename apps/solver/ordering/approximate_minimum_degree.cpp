// One search and the lists that it stands on, step by step: over 300 lines.

#include "solver/ordering/approximate_minimum_degree.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "espalier/model/error.h"
#include "espalier/model/free_memory.h"

namespace espalier::solver {
namespace {

constexpr std::int32_t kNobody = -1;
constexpr double kDense = 10;  // times sqrt(n) neighbours
constexpr std::int32_t kLeastDense = 16;
constexpr std::int32_t kPivotsAnAsk = 256;
constexpr std::int64_t kDeadMark = 0, kLiveMark = 1;
constexpr std::int32_t kIsElement = -1;  // in the place of a number of elements
constexpr std::uint32_t kBuckets = 1 << 12;

// The graph of what is left. A vertex's list has its elements, then its neighbours; an
// element's its vertices; all else has none. What is no vertex any more weighs nothing; a
// list may name it until it is looked at. Vertices of the element that is being made have
// their weight below zero.
class DegreeElimination {
 public:
  DegreeElimination(Graph&& graph, const Interrupt* ask);
  [[nodiscard]] std::vector<std::int32_t> run() &&;

 private:
  void postpone_dense();
  void insert(std::int32_t vertex);
  void remove(std::int32_t vertex);
  [[nodiscard]] std::int32_t of_least_degree();
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
  void join(std::int32_t element, std::int32_t pivot);
  void make_room(std::int64_t entries);
  [[nodiscard]] std::vector<std::int32_t> order() &&;

  const std::int32_t size_;
  const Interrupt* ask_;
  UnsetVector<std::int64_t> start_;
  UnsetVector<std::int32_t> list_, weight_;
  std::vector<std::int32_t> length_, elements_;  // of a list, and the elements in it
  // Without its own, of a vertex; of an element its vertices' weight or, where it is part
  // of another, which one that is.
  std::vector<std::int32_t> degree_;
  std::int64_t most_;  // entries of the lists that there is room for
  std::int64_t left_;  // weight

  // Vertices of each degree: the first, which came last, and of each the neighbours. Of
  // vertices of the element that is being made the next in its bucket, and the bucket.
  std::vector<std::int32_t> first_, next_, before_;
  std::int32_t least_ = 0;
  std::vector<std::int32_t> bucket_;  // of hashes: its first vertex

  std::int64_t stamp_ = kLiveMark + 1;  // marks below it are nobody's
  // Of an element stamp_ + its weight outside the pivot's; kDeadMark: part of another.
  std::vector<std::int64_t> mark_;

  std::vector<std::int32_t> follower_;  // in the circle of vertices that are one
  std::vector<std::int32_t> dense_;
};

DegreeElimination::DegreeElimination(Graph&& graph, const Interrupt* ask)
    : size_(graph.size()),
      ask_(ask),
      length_(size_),
      elements_(size_, 0),
      degree_(size_, 0),
      left_(total_weight(graph)),
      first_(left_ + 1, kNobody),
      next_(size_),
      before_(size_),
      bucket_(kBuckets, kNobody),
      mark_(size_, kDeadMark),
      follower_(size_) {
  for (std::int32_t v = 0; v < size_; ++v) {
    length_[v] = static_cast<std::int32_t>(graph.neighbours(v).size());
    follower_[v] = v;
  }
  start_ = std::move(graph.start);
  list_ = std::move(graph.neighbour);
  weight_ = std::move(graph.weight);
  if (weight_.empty()) weight_.assign(size_, 1);
  postpone_dense();
  most_ = minimum_degree_room(size_, std::ssize(list_));
  list_.reserve(most_);
  for (std::int32_t v = 0; v < size_; ++v) {
    if (weight_[v] == 0) continue;
    std::int64_t degree = 0;
    for (std::int64_t at = start_[v]; at < start_[v] + length_[v]; ++at)
      degree += weight_[list_[at]];
    degree_[v] = static_cast<std::int32_t>(degree);
    insert(v);
  }
}

void DegreeElimination::postpone_dense() {
  const double most =
      std::max<double>(kLeastDense, kDense * std::sqrt(static_cast<double>(size_)));
  for (std::int32_t v = 0; v < size_; ++v)
    if (length_[v] > most) dense_.push_back(v);
  for (const std::int32_t v : dense_) left_ -= std::exchange(weight_[v], 0);
  std::ranges::stable_sort(dense_, {}, [&](std::int32_t v) { return length_[v]; });
}

void DegreeElimination::insert(std::int32_t vertex) {
  const std::int32_t degree = degree_[vertex];
  const std::int32_t after = std::exchange(first_[degree], vertex);
  next_[vertex] = after;
  before_[vertex] = kNobody;
  if (after != kNobody) before_[after] = vertex;
  least_ = std::min(least_, degree);
}

void DegreeElimination::remove(std::int32_t vertex) {
  const std::int32_t after = next_[vertex], before = before_[vertex];
  if (after != kNobody) before_[after] = before;
  (before != kNobody ? next_[before] : first_[degree_[vertex]]) = after;
}

std::int32_t DegreeElimination::of_least_degree() {
  while (first_[least_] == kNobody) ++least_;
  return first_[least_];
}

// The lists stand one after the other again, where they would not leave so much room.
void DegreeElimination::make_room(std::int64_t entries) {
  if (std::ssize(list_) + entries <= most_) return;
  std::vector<std::int32_t> owners;
  for (std::int32_t v = 0; v < size_; ++v)
    if (length_[v] > 0) owners.push_back(v);
  std::ranges::sort(owners, {}, [&](std::int32_t v) { return start_[v]; });
  std::int64_t end = 0;
  for (const std::int32_t v : owners) {
    const auto from = list_.begin() + std::exchange(start_[v], end);
    std::copy(from, from + length_[v], list_.begin() + end);
    end += length_[v];
  }
  list_.resize(end);
  ESPALIER_ASSERT(end + entries <= most_, "lists never grow");
}

// Into the element that is being made, where it is not there. Nobody can foresee it, so
// that it is written, at no place behind what is read, and counts or does not.
void DegreeElimination::take_in(std::int32_t vertex, std::int64_t& to) {
  const std::int32_t weight = weight_[vertex];
  weight_[vertex] = -std::abs(weight);
  list_[to] = vertex;
  to += weight > 0 ? 1 : 0;
}

// 1. In the place of the pivot's neighbours, or behind all lists.
void DegreeElimination::make_element(std::int32_t pivot) {
  remove(pivot);
  weight_[pivot] = -weight_[pivot];
  const std::int32_t elements = std::exchange(elements_[pivot], kIsElement);
  std::int64_t begin = start_[pivot], to = begin;
  if (elements > 0) {
    std::int64_t most = length_[pivot] - elements;
    for (std::int32_t k = 0; k < elements; ++k) most += length_[list_[start_[pivot] + k]];
    most = std::min<std::int64_t>(most, size_);
    make_room(most);
    begin = to = std::ssize(list_);
    list_.resize(begin + most);
    for (std::int32_t k = 0; k < elements; ++k) {
      const std::int32_t element = list_[start_[pivot] + k];
      for (std::int32_t j = 0; j < length_[element]; ++j)
        take_in(list_[start_[element] + j], to);
      join(element, pivot);
    }
  }
  const std::int64_t behind = start_[pivot] + length_[pivot];
  for (std::int64_t at = start_[pivot] + elements; at < behind; ++at)
    take_in(list_[at], to);
  if (elements > 0) list_.resize(to);
  start_[pivot] = begin;
  length_[pivot] = static_cast<std::int32_t>(to - begin);
  mark_[pivot] = kLiveMark;
  std::int64_t weight = 0;
  for (std::int64_t at = begin; at < to; ++at) {
    weight -= weight_[list_[at]];
    remove(list_[at]);
  }
  degree_[pivot] = static_cast<std::int32_t>(weight);
}

// What of each element is not in the new one, without branches that nobody can foresee.
void DegreeElimination::measure_outside(std::int32_t pivot) {
  const std::int64_t stamp = stamp_;
  for (std::int32_t k = 0; k < length_[pivot]; ++k) {
    const std::int32_t vertex = list_[start_[pivot] + k];
    const std::int64_t weight = weight_[vertex];
    const auto first = list_.begin() + start_[vertex];
    for (auto each = first; each != first + elements_[vertex]; ++each) {
      const std::int64_t mark = mark_[*each], whole = stamp + degree_[*each];
      const std::int64_t left = (mark >= stamp ? mark : whole) + weight;
      mark_[*each] = mark == kDeadMark ? kDeadMark : left;
    }
  }
}

// 2. and 3.: drops from a list what is in the new element, which is the first then.
void DegreeElimination::shorten(std::int32_t vertex, std::int32_t pivot) {
  const std::int64_t begin = start_[vertex], neighbours = begin + elements_[vertex];
  const std::int64_t behind = begin + length_[vertex];
  const std::int64_t stamp = stamp_;
  std::int64_t to = begin, outside = 0;
  std::uint32_t hash = 0;
  for (std::int64_t at = begin; at < neighbours; ++at) {
    const std::int32_t element = list_[at];
    const std::int64_t mark = mark_[element], more = mark - stamp;
    if (more <= 0) {
      if (mark != kDeadMark) join(element, pivot);
      continue;
    }
    outside += more;
    hash += static_cast<std::uint32_t>(element);
    list_[to++] = element;
  }
  const std::int64_t first_neighbour = to;
  for (std::int64_t at = neighbours; at < behind; ++at) {
    const std::int32_t other = list_[at], weight = weight_[other];
    const bool stays = weight > 0;
    outside += stays ? weight : 0;
    hash += stays ? static_cast<std::uint32_t>(other) : 0;
    list_[to] = other;
    to += stays ? 1 : 0;
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
  before_[vertex] = static_cast<std::int32_t>(hash % kBuckets);
  next_[vertex] = std::exchange(bucket_[before_[vertex]], vertex);
}

// Whose elements and neighbours are, but for the first, all marked.
bool DegreeElimination::has_marked_list(std::int32_t vertex) const {
  const auto first = list_.begin() + start_[vertex];
  return std::all_of(first + 1, first + length_[vertex],
                     [&](std::int32_t each) { return mark_[each] == stamp_; });
}

void DegreeElimination::compare_bucket(std::int32_t first) {
  for (std::int32_t a = first; next_[a] != kNobody; a = next_[a]) {
    for (std::int32_t k = 1; k < length_[a]; ++k) mark_[list_[start_[a] + k]] = stamp_;
    for (std::int32_t before = a, b = next_[a]; b != kNobody; b = next_[b]) {
      if (length_[b] == length_[a] && elements_[b] == elements_[a] &&
          has_marked_list(b)) {
        weight_[a] += weight_[b];
        merge(b, a);
        next_[before] = next_[b];
      } else {
        before = b;
      }
    }
    ++stamp_;
    if (next_[a] == kNobody) return;
  }
}

// 4.
void DegreeElimination::join_equal(std::int32_t pivot) {
  for (std::int32_t k = 0; k < length_[pivot]; ++k) {
    const std::int32_t vertex = list_[start_[pivot] + k];
    if (weight_[vertex] == 0) continue;
    const std::int32_t first = std::exchange(bucket_[before_[vertex]], kNobody);
    if (first != kNobody) compare_bucket(first);
  }
}

void DegreeElimination::merge(std::int32_t vertex, std::int32_t into) {
  weight_[vertex] = 0;
  length_[vertex] = 0;
  std::swap(follower_[into], follower_[vertex]);
}

void DegreeElimination::join(std::int32_t element, std::int32_t pivot) {
  mark_[element] = kDeadMark;
  length_[element] = 0;
  degree_[element] = pivot;
}

// What is left of the element's vertices has degrees again.
void DegreeElimination::finish(std::int32_t pivot) {
  std::int64_t to = start_[pivot];
  for (std::int64_t at = to; at < start_[pivot] + length_[pivot]; ++at) {
    const std::int32_t vertex = list_[at];
    if (weight_[vertex] == 0) continue;
    list_[to++] = vertex;
    const std::int32_t weight = weight_[vertex] = -weight_[vertex];
    degree_[vertex] = static_cast<std::int32_t>(std::min<std::int64_t>(
        std::int64_t{degree_[vertex]} + degree_[pivot] - weight, left_ - weight));
    insert(vertex);
  }
  const bool is_last = start_[pivot] + length_[pivot] == std::ssize(list_);
  length_[pivot] = static_cast<std::int32_t>(to - start_[pivot]);
  if (is_last) list_.resize(to);
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
}

// What is part of an element before it, one subtree after the other, neighbours in number
// near each other: the same fill, and memory is walked through in order.
std::vector<std::int32_t> DegreeElimination::order() && {
  free_memory(list_);
  free_memory(start_);
  std::vector<std::int32_t>&first_part = next_, &next_part = before_, order, open;
  std::ranges::fill(first_part, kNobody);
  for (std::int32_t v = size_ - 1; v >= 0; --v) {
    if (elements_[v] != kIsElement) continue;
    if (mark_[v] != kDeadMark)
      open.push_back(v);
    else
      next_part[v] = std::exchange(first_part[degree_[v]], v);
  }
  order.reserve(size_);
  while (!open.empty()) {
    const std::int32_t element = open.back();
    if (const std::int32_t part = first_part[element]; part != kNobody) {
      first_part[element] = next_part[part];
      open.push_back(part);
      continue;
    }
    open.pop_back();
    std::int32_t v = element;
    do order.push_back(v);
    while ((v = follower_[v]) != element);
  }
  order.insert(order.end(), dense_.begin(), dense_.end());
  return order;
}

std::vector<std::int32_t> DegreeElimination::run() && {
  for (std::int64_t pivots = 0; left_ > 0; ++pivots) {
    if (pivots % kPivotsAnAsk == 0 && ask_ != nullptr && *ask_) (*ask_)();
    eliminate(of_least_degree());
  }
  return std::move(*this).order();
}

}  // namespace

std::vector<std::int32_t> approximate_minimum_degree(Graph&& graph,
                                                     const Interrupt* ask) {
  return DegreeElimination(std::move(graph), ask).run();
}

}  // namespace espalier::solver
