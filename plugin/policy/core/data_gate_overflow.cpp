// When the bound does not suffice: what is let in without proof, over the bound, or at
// the cost of others.

#include <algorithm>

#include "espalier/model/error.h"
#include "policy/core/data_gate.h"

namespace espalier::policy {

void* DataGate::admit_unproven(Seconds now) {
  count_held(now);
  std::vector<Index> refused;
  void* task = nullptr;
  while (!held_.empty() && task == nullptr) {
    const Index op = take_first_held();
    if (report_.booked + to_allocate(ops_[op]) > limit_) {
      refused.push_back(op);
      continue;
    }
    apply(op);
    ++report_.unproven;
    task = ops_[op].task;
  }
  for (const Index op : refused) hold(op);
  return task;
}

void* DataGate::admit_over_bound(Seconds now) {
  ESPALIER_ASSERT(!held_.empty(), "no task is held");
  count_held(now);
  const Index op = take_first_held();
  apply(op);
  return ops_[op].task;
}

// To what remains to be done needs: then there is no horizon.
void DataGate::raise_limit() { limit_ = std::max(limit_, base_ + witness_.peak()); }

void DataGate::let_evict() {
  ESPALIER_ASSERT(started_ == 0, "tasks run");
  if (evicting_) return;
  evicting_ = true;
  for (Datum& datum : data_.items)
    if (!datum.stays) loosen(datum);
}

// From being in memory from its first task to its last, to being there for each. A datum
// that was given back has no tasks, and nothing is booked for it.
void DataGate::loosen(Datum& d) {
  if (d.state == State::kAbsent && d.oldest != kNone)
    change(ops_[accesses_[d.oldest].op], -d.size, 0);
  if (d.released && d.newest != kNone) change(ops_[accesses_[d.newest].op], 0, -d.size);
  for (Index a = d.oldest; a != kNone; a = accesses_[a].newer)
    change(ops_[accesses_[a].op], d.size, d.size);
  if (d.state != State::kBooked) return;
  report_.booked -= d.size;
  if (!doomed(d)) base_ -= d.size;
  d.state = State::kEvicted;
}

}  // namespace espalier::policy
