// A shared front's vector: where its entries stand in whole vectors, and how they go from
// owner to owner and between a front and its children.

#include <algorithm>

#include "solver/distributed/shared_solve.h"
#include "solver/distributed/vector_rows.h"
#include "solver/tree/extend_add.h"

namespace espalier::solver {
template <class T>
std::int32_t SharedSolve<T>::place_of(std::int32_t front, std::int32_t position,
                                      bool of_x) const {
  const std::int32_t own = view_.symbolic.pivots(front);
  if (position < own) return view_.symbolic.first_column[front] + position;
  const auto& in =
      transposed_ != of_x ? delays(front)->columns_in : delays(front)->rows_in;
  return in[position - own];
}

// The entries of whole vectors for places [first, last) of a front's panel, and back.
template <class T>
void SharedSolve<T>::to_vector(const Open& at, const Vectors<T>& whole,
                               std::int32_t first, std::int32_t last) const {
  const Vectors<T> v = vector(at);
  for (std::int32_t p = first; p < last; ++p) {
    const std::int32_t place = place_of(at.front, p, false);
    for (std::int32_t k = 0; k < v.count; ++k)
      v.data[k * v.stride + p] = whole.data[k * whole.stride + place];
  }
}

template <class T>
void SharedSolve<T>::from_vector(const Open& at, std::int32_t first, std::int32_t last,
                                 bool of_x, const Vectors<T>& whole) const {
  const Vectors<T> v = vector(at);
  for (std::int32_t p = first; p < last; ++p) {
    const std::int32_t place = place_of(at.front, p, of_x);
    for (std::int32_t k = 0; k < v.count; ++k)
      whole.data[k * whole.stride + place] = v.data[k * v.stride + p];
  }
}

// At the last owner: what the tail left of the slots, wherever they come from.
template <class T>
void SharedSolve<T>::keep_slots(const Open& at) const {
  if (at.slots == 0) return;
  for (const std::int32_t p :
       transposed_ ? delays(at.front)->slot_column : delays(at.front)->slot_row)
    from_vector(at, p, p + 1, false, b_);
}

template <class T>
std::int32_t SharedSolve<T>::delayed_by(const Open& at, std::int32_t number) const {
  const FrontDelays<T>* const own = delays(at.front);
  return own == nullptr || own->from_child.empty() ? 0 : own->from_child[number];
}

// At the process that has a child's tail: its delayed columns in b, and in x.
template <class T>
void SharedSolve<T>::gather_delayed(std::int32_t child, T* to) const {
  const FrontDelays<T>* const own = delays(child);
  if (own == nullptr) return;
  for (std::int32_t v = 0; v < b_.count; ++v)
    for (std::int32_t k = own->tail_eliminated; k < own->slots(); ++k)
      *to++ =
          b_.data[v * b_.stride + (transposed_ ? own->column_id(view_.symbolic, child, k)
                                               : own->row_id(view_.symbolic, child, k))];
}

template <class T>
void SharedSolve<T>::scatter_delayed(std::int32_t child, const T* from) const {
  const FrontDelays<T>* const own = delays(child);
  if (own == nullptr) return;
  for (std::int32_t v = 0; v < b_.count; ++v)
    for (std::int32_t k = own->tail_eliminated; k < own->slots(); ++k)
      x_.data[v * x_.stride + (transposed_ ? own->row_id(view_.symbolic, child, k)
                                           : own->column_id(view_.symbolic, child, k))] =
          *from++;
}

// Between those who have a child's rows below its panel and the first owners of its
// parent: in one order everywhere. Columns that it delayed go from its tail to the strip
// that has them.
template <class T>
auto SharedSolve<T>::passages(const Open& at, const Child& child) const
    -> std::vector<Passage> {
  const auto below = holders(child.node), above = column_of(distribution_, at.node, 0);
  const auto here = [&](const std::vector<std::int32_t>& processes) {
    return std::ranges::find(processes, communicator_.rank()) != processes.end();
  };
  if (!here(below) && !here(above)) return {};
  const std::span<const std::int32_t> places = places_of(at, child);
  const std::int32_t panel =
      view_.symbolic.pivots(child.front) + view_.factor.delayed_in(child.front);
  const std::int32_t own = view_.symbolic.pivots(at.front);
  const std::int32_t moved = at.panel.columns() - own;
  std::vector<Passage> result;
  for (const std::int32_t from : below)
    for (const std::int32_t to : above) result.push_back({from, to, {}, false});
  for (std::int32_t row = 0; row < std::ssize(places); ++row) {
    const std::int32_t place = places[row] < own ? places[row] : places[row] + moved;
    const std::size_t from = grid_row(child.node, child.front, panel + row),
                      to = grid_row(at.node, at.front, place);
    result[from * above.size() + to].rows.push_back(row);
  }
  if (result.size() == 1) {
    result[0].delayed = true;
    return result;
  }
  if (delayed_by(at, child.number) > 0) {
    const std::int32_t tail = distribution_.owner_of(
        child.node, view_.tree.panel(view_.symbolic, child.front).blocks() - 1);
    const auto from =
        static_cast<std::size_t>(std::ranges::find(below, tail) - below.begin());
    result[from * above.size() + grid_row(at.node, at.front, own)].delayed = true;
  }
  std::erase_if(result,
                [](const Passage& each) { return each.rows.empty() && !each.delayed; });
  return result;
}

// Positions of a child's rows in its parent, without columns that come to it.
template <class T>
std::span<std::int32_t> SharedSolve<T>::places_of(const Open& at,
                                                  const Child& child) const {
  const auto places =
      std::span(space_.places).first(view_.symbolic.rows_of(child.front).size());
  relative_indices(view_.symbolic, child.front, at.front, places);
  return places;
}

// Brings what a child left to a first owner: its rows, then its delayed columns.
template <class T>
void SharedSolve<T>::take_out(const Open& at, const Child& child,
                              const Passage& passage) const {
  const std::int32_t me = communicator_.rank();
  if (passage.from != me && passage.to != me) return;
  const auto rows = std::ssize(passage.rows);
  const std::int32_t more = !passage.delayed     ? 0
                            : passage.from == me ? view_.factor.delayed_out(child.front)
                                                 : delayed_by(at, child.number);
  const std::span<T> part = message(rows + more);
  if (passage.from != me) {
    receive(communicator_, part, passage.from, MessageTag::kForward);
    return add_out(at, child, passage, part.data());
  }
  const T* const left =
      distribution_.shared(child.node) ? out(child.node) : local_.out(child.node);
  const auto all = std::ssize(view_.symbolic.rows_of(child.front));
  T* next = part.data();
  for (std::int32_t v = 0; v < b_.count; ++v)
    for (const std::int32_t row : passage.rows) *next++ = left[v * all + row];
  if (passage.delayed) gather_delayed(child.front, next);
  if (passage.to == me) return add_out(at, child, passage, part.data());
  send(communicator_, std::span<const T>(part), passage.to, MessageTag::kForward);
}

template <class T>
void SharedSolve<T>::add_out(const Open& at, const Child& child, const Passage& passage,
                             const T* part) const {
  const std::span<const std::int32_t> places = places_of(at, child);
  const std::int32_t own = view_.symbolic.pivots(at.front);
  const std::int32_t moved = at.panel.columns() - own;
  const Vectors<T> v = vector(at);
  for (std::int32_t k = 0; k < v.count; ++k)
    for (const std::int32_t row : passage.rows) {
      const std::int32_t place = places[row];
      v.data[k * v.stride + (place < own ? place : place + moved)] += *part++;
    }
  if (moved == 0 || !passage.delayed) return;
  const std::int32_t more = delayed_by(at, child.number);
  for (std::int32_t k = 0; k < v.count; ++k)
    for (std::int32_t i = 0; i < more; ++i)
      v.data[k * v.stride + child.place + i] = *part++;
}

// Brings x in a child's rows, and in the columns that it delayed, from a first owner to
// where they are needed first.
template <class T>
void SharedSolve<T>::pass_down(const Open& at, const Child& child,
                               const Passage& passage) const {
  const auto all = view_.symbolic.rows_of(child.front);
  std::vector<std::int32_t> rows;
  for (const std::int32_t row : passage.rows) rows.push_back(all[row]);
  const std::int64_t count = std::ssize(rows);
  const std::int32_t from = passage.to, to = passage.from;  // the other way
  if (from == to) return;
  if (from == communicator_.rank()) {
    const std::int32_t more = passage.delayed ? delayed_by(at, child.number) : 0;
    const std::span<T> part = message(count + more);
    gather_rows(x_, rows, part.data(), count);
    T* next = part.data() + count * b_.count;
    for (std::int32_t v = 0; v < b_.count; ++v)
      for (std::int32_t i = 0; i < more; ++i)
        *next++ = x_.data[v * x_.stride + place_of(at.front, child.place + i, true)];
    send(communicator_, std::span<const T>(part), to, MessageTag::kBackward);
  } else if (to == communicator_.rank()) {
    const std::int32_t more = passage.delayed ? view_.factor.delayed_out(child.front) : 0;
    const std::span<T> part = message(count + more);
    receive(communicator_, part, from, MessageTag::kBackward);
    scatter_rows(part.data(), count, rows, x_);
    if (!passage.delayed) return;
    scatter_delayed(child.front, part.data() + count * b_.count);
  }
}

// The front's vector from a row on, and the slots so far, to and from another owner.
template <class T>
void SharedSolve<T>::send_from(const Open& at, std::int32_t row, std::int32_t slots,
                               std::int32_t to, MessageTag tag) const {
  const Vectors<T> v = vector(at);
  const std::int64_t rows = v.stride - row;
  const std::span<T> part = message(rows + slots);
  copy_rows(v.data + row, v.stride, part.data(), rows, rows, v.count);
  copy_rows(this->slots(at).slots, at.slots, part.data() + rows * v.count, slots, slots,
            v.count);
  send(communicator_, std::span<const T>(part), to, tag);
}

template <class T>
void SharedSolve<T>::receive_from(const Open& at, std::int32_t row, std::int32_t slots,
                                  std::int32_t from, MessageTag tag) const {
  const Vectors<T> v = vector(at);
  const std::int64_t rows = v.stride - row;
  const std::span<T> part = message(rows + slots);
  receive(communicator_, part, from, tag);
  copy_rows(part.data(), rows, v.data + row, v.stride, rows, v.count);
  copy_rows(part.data() + rows * v.count, slots, this->slots(at).slots, at.slots, slots,
            v.count);
}

#define ESPALIER_INSTANTIATE(T)                                                         \
  template void SharedSolve<T>::to_vector(const Open&, const Vectors<T>&, std::int32_t, \
                                          std::int32_t) const;                          \
  template void SharedSolve<T>::from_vector(const Open&, std::int32_t, std::int32_t,    \
                                            bool, const Vectors<T>&) const;             \
  template void SharedSolve<T>::keep_slots(const Open&) const;                          \
  template std::int32_t SharedSolve<T>::delayed_by(const Open&, std::int32_t) const;    \
  template auto SharedSolve<T>::passages(const Open&, const Child&)                     \
      const->std::vector<Passage>;                                                      \
  template void SharedSolve<T>::take_out(const Open&, const Child&, const Passage&)     \
      const;                                                                            \
  template void SharedSolve<T>::pass_down(const Open&, const Child&, const Passage&)    \
      const;                                                                            \
  template void SharedSolve<T>::send_from(const Open&, std::int32_t, std::int32_t,      \
                                          std::int32_t, MessageTag) const;              \
  template void SharedSolve<T>::receive_from(const Open&, std::int32_t, std::int32_t,   \
                                             std::int32_t, MessageTag) const;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
