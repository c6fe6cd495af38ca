// What processes that share a front send each other of the columns that are put off.

#include <algorithm>
#include <utility>

#include "solver/front/front.h"
#include "solver/memory/writable_bytes.h"

namespace espalier::solver {
template <class T>
void Front<T>::open_exchange() {
  slot_rows_.resize(static_cast<std::size_t>(panels()));
  for (std::int32_t k = 0; k < panels(); ++k) {
    const std::int32_t width = storage_.panel_layout.width(k);
    notes_.emplace_back(1 + storage_.sides * width)[0] = width;
  }
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
  if (strips() > 1) parts.push_back(writable_bytes(slot_rows_[block].corner));
  return parts;
}

template <class T>
void Front<T>::open_slot_rows(std::int32_t block) {
  Slots& slots = slot_rows_[block];
  slots.count = this->slots();
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    slots.rows[side].resize(std::int64_t{slots.count} *
                            storage_.panel_layout.width(block));
  const auto more = static_cast<std::size_t>(put_off(block));
  if (strips() > 1) slots.corner.resize(more * more);
}

template <class T>
void Front<T>::take_panel(std::int32_t block) {
  take_orders(block);
  const Slots slots = std::move(slot_rows_[block]);
  close_panel(block, block_column(storage_, block), notes_[block][0], slots);
}

template <class T>
void Front<T>::trial(std::int32_t block, T* diagonal) const {
  const BlockColumn<T> column = block_column(storage_, block);
  for (std::int32_t k = 0; k < column.width; ++k)
    std::copy_n(column.data[0] + std::int64_t{k} * column.leading, column.width,
                diagonal + std::int64_t{k} * column.width);
}

template <class T>
void Front<T>::open_trial(std::int32_t block, T* diagonal) {
  open_[1] = std::make_unique<OpenPanel>();
  open_[1]->trial = diagonal;
  open_[1]->counts.eliminated = notes_[block][0];
  take_orders(block);
}

template <class T>
void Front<T>::take_orders(std::int32_t block) {
  const BlockColumn<T> column = block_column(storage_, block);
  std::int32_t* const orders[] = {row_order_, column_order_};
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    std::copy_n(notes_[block].data() + 1 + side * column.width, column.width,
                orders[side] + column.first);
}

template <class T>
bool Front<T>::tries_again(std::int32_t block, std::int32_t agreed) const {
  const std::int32_t left = storage_.panel_layout.width(block) - agreed;
  if (context_.pivoting.delay_reserve == 0) return left > 0;
  if (agreed < tried(block)) return true;
  return left > 0 && !pay_for_slots(open_[0] ? open_[0]->slots.count : 0, left);
}

template <class T>
void Front<T>::add_rest(std::int32_t block, std::int32_t begin, std::int32_t end,
                        std::array<T*, 2> sides) {
  if (!opened(block)) return;
  for (T*& side : sides) side -= std::int64_t{opened(block)->agreed} * (end - begin);
  opened(block)->rest.push_back({begin, end, sides});
}

template <class T>
void Front<T>::copy_tail_rows(std::int32_t begin, std::int32_t end, T* to) const {
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    for (std::int32_t s = 0; s < slots(); ++s, to += end - begin)
      std::copy_n(delays()->passed[side].data() + std::int64_t{s} * order() + begin,
                  end - begin, to);
}

template <class T>
void Front<T>::put_tail_rows(std::int32_t begin, std::int32_t end, const T* from) {
  for (std::int32_t side = 0; side < storage_.sides; ++side)
    for (std::int32_t s = 0; s < slots(); ++s, from += end - begin)
      std::copy_n(from, end - begin,
                  delays()->passed[side].data() + std::int64_t{s} * order() + begin);
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

#define ESPALIER_INSTANTIATE(T)                                                 \
  template void Front<T>::open_exchange();                                      \
  template auto Front<T>::notes(std::int32_t)->Parts;                           \
  template auto Front<T>::slot_rows(std::int32_t)->Parts;                       \
  template void Front<T>::open_slot_rows(std::int32_t);                         \
  template void Front<T>::take_panel(std::int32_t);                             \
  template void Front<T>::trial(std::int32_t, T*) const;                        \
  template void Front<T>::open_trial(std::int32_t, T*);                         \
  template bool Front<T>::tries_again(std::int32_t, std::int32_t) const;        \
  template void Front<T>::add_rest(std::int32_t, std::int32_t, std::int32_t,    \
                                   std::array<T*, 2>);                          \
  template void Front<T>::copy_tail_rows(std::int32_t, std::int32_t, T*) const; \
  template void Front<T>::put_tail_rows(std::int32_t, std::int32_t, const T*);  \
  template void Front<T>::open_tail();                                          \
  template auto Front<T>::tail()->Parts;                                        \
  template void Front<T>::close_exchange(bool);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
