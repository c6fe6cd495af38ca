// What the children of a shared front delayed: told to all of its processes before it is
// opened.

#include <algorithm>
#include <memory>

#include "solver/distributed/shared_front.h"
#include "solver/memory/writable_bytes.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::solver {
namespace {

// The process that has all of what a child delayed: the owner of its panel's last block.
template <class T>
std::int32_t holder_of(const FrontContext<T>& context,
                       const FrontDistribution& distribution, std::int32_t child) {
  return distribution.owner_of(context.tree.node_of_front[child],
                               context.tree.panel(context.symbolic, child).blocks() - 1);
}

// As the child would have it, if nothing but these columns had been put off in it.
template <class T>
std::unique_ptr<FrontDelays<T>> columns_alone(const FrontContext<T>& context,
                                              std::int32_t child, std::int32_t count) {
  auto delays = std::make_unique<FrontDelays<T>>();
  const std::int64_t rows = std::ssize(context.symbolic.rows_of(child));
  const std::int32_t own = context.symbolic.pivots(child);
  for (std::int32_t k = 0; k < count; ++k) {
    delays->tail_row_order.push_back(k);
    delays->slot_row.push_back(own + k);
  }
  delays->tail_column_order = delays->tail_row_order;
  delays->slot_column = delays->slot_row;
  for (std::int32_t side = 0; side < context.tree.sides(); ++side)
    delays->tail[side].resize(count * (count + rows));
  return delays;
}

}  // namespace

// Everyone else of the group will ask for each child that is here.
template <class T>
void SharedFront<T>::count_delays() {
  counts_.resize(children_.size(), 0);
  ids_.resize(children_.size());
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    if (holder_of(site_.context, site_.distribution, children_[i]) != site_.process)
      ++to_fetch_;
    else
      left_ += (group().count - 1) * (delayed_here(number).count > 0 ? 2 : 1);
  }
}

template <class T>
void SharedFront<T>::fetch_delays() {
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const auto number = static_cast<std::int32_t>(i);
    const std::int32_t holder =
        holder_of(site_.context, site_.distribution, children_[i]);
    if (holder == site_.process) continue;
    site_.channel.fetch(
        holder,
        {.kind = DataRequest::Kind::kDelays, .node = node_, .child = number, .first = 0},
        {std::as_writable_bytes(std::span(&counts_[i], 1))},
        [this, number] { fetch_delays_of(number); });
  }
}

// It is known how many there are.
template <class T>
void SharedFront<T>::fetch_delays_of(std::int32_t number) {
  const std::int32_t child = children_[number], count = counts_[number];
  auto& told = site_.context.told->at(child);
  told = columns_alone(site_.context, child, count);
  if (count == 0) return one_less_to_fetch();
  ids_[number].resize(2 * static_cast<std::size_t>(count));
  site_.channel.fetch(
      holder_of(site_.context, site_.distribution, child),
      {.kind = DataRequest::Kind::kDelays, .node = node_, .child = number, .first = 1},
      {writable_bytes(ids_[number]), writable_bytes(told->tail[0]),
       writable_bytes(told->tail[1])},
      [this, &delays = *told, number] {
        const std::vector<std::int32_t>& ids = ids_[number];
        const auto half = ids.begin() + counts_[number];
        delays.rows_in.assign(ids.begin(), half);
        delays.columns_in.assign(half, ids.end());
        one_less_to_fetch();
      });
}

template <class T>
void SharedFront<T>::one_less_to_fetch() {
  if (--to_fetch_ > 0) return;
  if (!may_delay_) return begin();
  // Not on the channel's thread.
  static starpu_codelet codelet = make_codelet(run_begin, "open");
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = this;
  submit_(task);
}

template <class T>
void SharedFront<T>::run_begin(void* /*buffers*/[], void* argument) noexcept {
  auto* const front = static_cast<SharedFront*>(argument);
  const auto& stop = front->site_.context.stop;
  try {
    front->begin();
  } catch (...) {
    stop();
  }
}

// Of a child here: what the tail has not eliminated.
template <class T>
auto SharedFront<T>::delayed_here(std::int32_t number) -> Delayed& {
  const auto place = delayed_.find(number);
  if (place != delayed_.end()) return place->second;
  Delayed& here = delayed_[number];
  const std::int32_t child = children_[number];
  const FrontDelays<T>* const from = site_.context.factor.delays_of(child);
  if (from == nullptr || from->delayed_out() == 0) return here;
  here.count = from->delayed_out();
  const Symbolic& symbolic = site_.context.symbolic;
  const std::int32_t slots = from->slots(), first = from->tail_eliminated;
  for (std::int32_t k = first; k < slots; ++k)
    here.ids.push_back(from->row_id(symbolic, child, k));
  for (std::int32_t k = first; k < slots; ++k)
    here.ids.push_back(from->column_id(symbolic, child, k));
  const std::int64_t leading = slots + std::ssize(symbolic.rows_of(child));
  for (std::int32_t side = 0; side < site_.context.tree.sides(); ++side)
    for (std::int32_t k = first; k < slots; ++k) {
      const T* const column = from->tail[side].data() + k * leading;
      here.values[side].insert(here.values[side].end(), column + first, column + leading);
    }
  return here;
}

template <class T>
void SharedFront<T>::answer_delays(const Waiting& waiting) {
  Delayed& here = delayed_here(waiting.request.child);
  Channel::Parts parts{std::as_writable_bytes(std::span(&here.count, 1))};
  if (waiting.request.first == 1)
    parts = {writable_bytes(here.ids), writable_bytes(here.values[0]),
             writable_bytes(here.values[1])};
  site_.channel.answer(waiting.process, waiting.request, parts, [this] { one_less(); });
}

#define ESPALIER_INSTANTIATE(T)                      \
  template void SharedFront<T>::count_delays();      \
  template void SharedFront<T>::fetch_delays();      \
  template void SharedFront<T>::one_less_to_fetch(); \
  template void SharedFront<T>::answer_delays(const Waiting&);
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
