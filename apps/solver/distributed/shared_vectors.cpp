// A shared front's vector: where its entries stand in whole vectors, and how they go from
// owner to owner and between a front and its children.

#include <algorithm>

#include "solver/distributed/cluster_solve.h"
#include "solver/distributed/vector_rows.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
namespace {

// Number of a child among those of its parent.
std::int32_t number_of(const AssemblyTree& tree, std::int32_t front, std::int32_t child) {
  std::int32_t number = 0;
  for (auto c = tree.first_child[front]; c != child; c = tree.next_sibling[c]) ++number;
  return number;
}

}  // namespace

template <class T>
std::int32_t ClusterSolve<T>::place_of(std::int32_t front, std::int32_t position,
                                       bool of_x) const {
  const std::int32_t own = view_.symbolic.pivots(front);
  if (position < own) return view_.symbolic.first_column[front] + position;
  const auto& in =
      transposed_ != of_x ? delays(front)->columns_in : delays(front)->rows_in;
  return in[position - own];
}

// The entries of whole vectors for places [first, last) of a front's panel, and back.
template <class T>
void ClusterSolve<T>::to_vector(std::int32_t front, const Vectors<T>& whole,
                                std::int32_t first, std::int32_t last) {
  const Vectors<T> v = vector();
  for (std::int32_t p = first; p < last; ++p) {
    const std::int32_t place = place_of(front, p, false);
    for (std::int32_t k = 0; k < v.count; ++k)
      v.data[k * v.stride + p] = whole.data[k * whole.stride + place];
  }
}

template <class T>
void ClusterSolve<T>::from_vector(std::int32_t front, std::int32_t first,
                                  std::int32_t last, bool of_x, const Vectors<T>& whole) {
  const Vectors<T> v = vector();
  for (std::int32_t p = first; p < last; ++p) {
    const std::int32_t place = place_of(front, p, of_x);
    for (std::int32_t k = 0; k < v.count; ++k)
      whole.data[k * whole.stride + place] = v.data[k * v.stride + p];
  }
}

// At the last owner: what the tail left of the slots, wherever they come from.
template <class T>
void ClusterSolve<T>::keep_slots(std::int32_t front) {
  if (slot_count_ == 0) return;
  for (const std::int32_t p :
       transposed_ ? delays(front)->slot_column : delays(front)->slot_row)
    from_vector(front, p, p + 1, false, b_);
}

template <class T>
std::int32_t ClusterSolve<T>::delayed_by(std::int32_t front, std::int32_t number) const {
  return delays(front) == nullptr || delays(front)->from_child.empty()
             ? 0
             : delays(front)->from_child[number];
}

// At the process that has a child's tail: its delayed columns in b, and in x.
template <class T>
void ClusterSolve<T>::gather_delayed(std::int32_t child, T* to) const {
  const FrontDelays<T>* const own = delays(child);
  if (own == nullptr) return;
  for (std::int32_t v = 0; v < b_.count; ++v)
    for (std::int32_t k = own->tail_eliminated; k < own->slots(); ++k)
      *to++ =
          b_.data[v * b_.stride + (transposed_ ? own->column_id(view_.symbolic, child, k)
                                               : own->row_id(view_.symbolic, child, k))];
}

template <class T>
void ClusterSolve<T>::scatter_delayed(std::int32_t child, const T* from) {
  const FrontDelays<T>* const own = delays(child);
  if (own == nullptr) return;
  for (std::int32_t v = 0; v < b_.count; ++v)
    for (std::int32_t k = own->tail_eliminated; k < own->slots(); ++k)
      x_.data[v * x_.stride + (transposed_ ? own->row_id(view_.symbolic, child, k)
                                           : own->column_id(view_.symbolic, child, k))] =
          *from++;
}

// Brings what a child left to the first owner: its rows, then its delayed columns, which
// begin at `place` there.
template <class T>
void ClusterSolve<T>::take_out(std::int32_t child, std::int32_t front, std::int32_t to,
                               std::int32_t place) {
  const std::int32_t from = holder(child), me = communicator_.rank();
  const std::int32_t c = this->front(child);
  const auto rows = std::ssize(view_.symbolic.rows_of(c));
  if (from != me && to != me) return;
  const std::int32_t more = from == me
                                ? view_.factor.delayed_out(c)
                                : delayed_by(front, number_of(view_.tree, front, c));
  const std::span<T> part = message(rows + more);
  if (from == me) {
    const T* const out = distribution_.shared(child)
                             ? outs_.as<T>() + out_start_[child] * count_
                             : local_.out(child).data;
    if (to != me) std::copy_n(out, rows * b_.count, part.data());
    gather_delayed(c, part.data() + rows * b_.count);
    if (to == me)
      add_out(child, front, out, part.data() + rows * b_.count, place);
    else
      send(communicator_, std::span<const T>(part), to, MessageTag::kForward);
  } else {
    receive(communicator_, part, from, MessageTag::kForward);
    add_out(child, front, part.data(), part.data() + rows * b_.count, place);
  }
}

template <class T>
void ClusterSolve<T>::add_out(std::int32_t child, std::int32_t front, const T* out,
                              const T* delayed, std::int32_t place) {
  const std::int32_t c = this->front(child);
  const auto places = std::span(places_).first(view_.symbolic.rows_of(c).size());
  relative_indices(view_.symbolic, c, front, places);
  const std::int32_t own = view_.symbolic.pivots(front), moved = columns_ - own;
  const Vectors<T> v = vector();
  for (std::int32_t k = 0; k < v.count; ++k)
    for (const std::int32_t row : places)
      v.data[k * v.stride + (row < own ? row : row + moved)] += *out++;
  if (moved == 0) return;
  const std::int32_t more = delayed_by(front, number_of(view_.tree, front, c));
  for (std::int32_t k = 0; k < v.count; ++k)
    for (std::int32_t i = 0; i < more; ++i) v.data[k * v.stride + place + i] = *delayed++;
}

// Brings x in a child's rows, and in the columns that it delayed, from the first owner to
// where they are needed first.
template <class T>
void ClusterSolve<T>::pass_down(std::int32_t node, std::int32_t child,
                                std::int32_t place) {
  const std::int32_t from = distribution_.owner_of(node, 0), to = holder(child);
  const std::int32_t s = front(node), c = front(child);
  const auto rows = view_.symbolic.rows_of(c);
  const std::int64_t count = std::ssize(rows);
  if (from == to) return;
  if (from == communicator_.rank()) {
    const std::int32_t more = delayed_by(s, number_of(view_.tree, s, c));
    const std::span<T> part = message(count + more);
    gather_rows(x_, rows, part.data(), count);
    T* next = part.data() + count * b_.count;
    for (std::int32_t v = 0; v < b_.count; ++v)
      for (std::int32_t i = 0; i < more; ++i)
        *next++ = x_.data[v * x_.stride + place_of(s, place + i, true)];
    send(communicator_, std::span<const T>(part), to, MessageTag::kBackward);
  } else if (to == communicator_.rank()) {
    const std::span<T> part = message(count + view_.factor.delayed_out(c));
    receive(communicator_, part, from, MessageTag::kBackward);
    scatter_rows(part.data(), count, rows, x_);
    scatter_delayed(c, part.data() + count * b_.count);
  }
}

// The front's vector from a row on, and the slots so far, to and from another owner.
template <class T>
void ClusterSolve<T>::send_from(std::int32_t row, std::int32_t slots, std::int32_t to,
                                MessageTag tag) {
  const std::int64_t rows = order_ - row;
  const Vectors<T> v = vector();
  const std::span<T> part = message(rows + slots);
  copy_rows(v.data + row, v.stride, part.data(), rows, rows, v.count);
  copy_rows(slots_.as<T>(), slot_count_, part.data() + rows * v.count, slots, slots,
            v.count);
  send(communicator_, std::span<const T>(part), to, tag);
}

template <class T>
void ClusterSolve<T>::receive_from(std::int32_t row, std::int32_t slots,
                                   std::int32_t from, MessageTag tag) {
  const std::int64_t rows = order_ - row;
  const Vectors<T> v = vector();
  const std::span<T> part = message(rows + slots);
  receive(communicator_, part, from, tag);
  copy_rows(part.data(), rows, v.data + row, v.stride, rows, v.count);
  copy_rows(part.data() + rows * v.count, slots, slots_.as<T>(), slot_count_, slots,
            v.count);
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template void ClusterSolve<T>::to_vector(std::int32_t, const Vectors<T>&,             \
                                           std::int32_t, std::int32_t);                 \
  template void ClusterSolve<T>::from_vector(std::int32_t, std::int32_t, std::int32_t,  \
                                             bool, const Vectors<T>&);                  \
  template void ClusterSolve<T>::keep_slots(std::int32_t);                              \
  template std::int32_t ClusterSolve<T>::delayed_by(std::int32_t, std::int32_t) const;  \
  template void ClusterSolve<T>::take_out(std::int32_t, std::int32_t, std::int32_t,     \
                                          std::int32_t);                                \
  template void ClusterSolve<T>::pass_down(std::int32_t, std::int32_t, std::int32_t);   \
  template void ClusterSolve<T>::send_from(std::int32_t, std::int32_t, std::int32_t,    \
                                           MessageTag);                                 \
  template void ClusterSolve<T>::receive_from(std::int32_t, std::int32_t, std::int32_t, \
                                              MessageTag);
ESPALIER_INSTANTIATE(float)
ESPALIER_INSTANTIATE(double)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
