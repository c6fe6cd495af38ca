// What processes that share a front send each other of the columns that are put off.

#include <algorithm>
#include <utility>

#include "solver/front/front.h"
#include "solver/memory/writable_bytes.h"

namespace espalier::solver {
template <class T>
void Front<T>::open_exchange() {
  slot_rows_.resize(static_cast<std::size_t>(panels()));
  for (std::int32_t k = 0; k < panels(); ++k)
    notes_.emplace_back(1 + storage_.sides * storage_.panel_layout.width(k));
}

template <class T>
auto Front<T>::notes(std::int32_t block) -> Parts {
  return {writable_bytes(notes_[block])};
}

template <class T>
auto Front<T>::slot_rows(std::int32_t block) -> Parts {
  Parts parts;
  for (std::vector<T>& rows : slot_rows_[block].rows)
    parts.push_back(writable_bytes(rows));
  return parts;
}

template <class T>
void Front<T>::open_slot_rows(std::int32_t block) {
  Slots& slots = slot_rows_[block];
  slots.count = this->slots();
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    slots.rows[side].resize(std::int64_t{slots.count} *
                            storage_.panel_layout.width(block));
}

template <class T>
void Front<T>::take_panel(std::int32_t block) {
  const BlockColumn<T> column = block_column(storage_, block);
  const std::vector<std::int32_t>& notes = notes_[block];
  std::int32_t* const orders[] = {row_order_, column_order_};
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    std::copy_n(notes.data() + 1 + side * column.width, column.width,
                orders[side] + column.first);
  const Slots slots = std::move(slot_rows_[block]);
  close_panel(block, column, notes[0], slots);
}

template <class T>
void Front<T>::open_tail() {
  gather_tail();
}

template <class T>
auto Front<T>::tail() -> Parts {
  FrontDelays<T>& own = *delays();
  return {writable_bytes(own.tail[0]),
          writable_bytes(own.tail[1]),
          writable_bytes(own.tail_d),
          writable_bytes(own.tail_row_order),
          writable_bytes(own.tail_column_order),
          std::as_writable_bytes(std::span(&own.tail_eliminated, 1))};
}

template <class T>
void Front<T>::close_exchange(bool has_tail) {
  notes_ = {};
  slot_rows_ = {};
  FrontDelays<T>* const own = delays();
  if (own == nullptr || own->slots() == 0 || has_tail) return;
  gather_tail();
  own->tail = {};
}

#define ESPALIER_INSTANTIATE(T)                           \
  template void Front<T>::open_exchange();                \
  template auto Front<T>::notes(std::int32_t)->Parts;     \
  template auto Front<T>::slot_rows(std::int32_t)->Parts; \
  template void Front<T>::open_slot_rows(std::int32_t);   \
  template void Front<T>::take_panel(std::int32_t);       \
  template void Front<T>::open_tail();                    \
  template auto Front<T>::tail()->Parts;                  \
  template void Front<T>::close_exchange(bool);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
