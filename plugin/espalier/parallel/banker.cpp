#include "espalier/parallel/banker.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {

Banker::Banker(Bytes bound)
    : bound_(bound),
      unlimited_(bound >= kUnlimited),
      limit_(bound),
      order_([this](Index op, PrefixPeakTree::Place p) { tasks_[op].place = p; }) {}

Banker::Datum Banker::add(Bytes size, bool in_memory, bool stays) {
  const State there = evicting_ && !stays ? State::kEvicted : State::kBooked;
  const Index datum = data_.take(
      {size, kNone, kNone, 0, in_memory ? there : State::kAbsent, false, stays});
  ESPALIER_ASSERT(datum < kDatumBits, "an index of 30 bits");
  if (data_[datum].state == State::kBooked) book(data_[datum], size);
  return Datum{datum};
}

void Banker::grow(Datum datum, Bytes more) {
  DatumEntry& d = at(datum);
  d.size += more;
  if (d.state == State::kBooked) book(d, more);
  if (d.released && d.newest != kNone && !loose(d)) change(d.newest, 0, more);
}

void Banker::release(Datum datum) {
  DatumEntry& d = at(datum);
  d.released = true;
  if (d.newest != kNone) {
    if (!loose(d)) change(d.newest, 0, d.size);
  } else if (d.state == State::kBooked && !loose(d)) {
    base_ -= d.size;
  }
}

void Banker::remove(Datum datum) {
  DatumEntry& d = at(datum);
  if (!d.released) release(datum);
  if (d.state == State::kBooked) booked_ -= d.size;
  d.state = State::kAbsent;
  data_.give_back(static_cast<Index>(datum));
}

void Banker::lose(Datum datum) {
  DatumEntry& d = at(datum);
  if (d.state != State::kBooked || loose(d)) return;
  book(d, -d.size);
  d.state = State::kEvicted;
}

void Banker::regain(Datum datum) {
  DatumEntry& d = at(datum);
  if (d.state != State::kEvicted || loose(d)) return;
  d.state = State::kBooked;
  book(d, d.size);
}

Banker::Op Banker::append(std::span<const Datum> data) {
  const Index op = tasks_.take({kLastAccess, 0, 0});
  Bytes alloc = 0, free = 0;
  for (const Datum datum : data) {
    alloc += link(op, static_cast<Index>(datum));
    if (loose(at(datum))) free += at(datum).size;
  }
  if (!unlimited_) tasks_[op].place = order_.append(op, alloc);
  if (free > 0) change(tasks_[op], 0, free);
  return Op{op};
}

// @return what the task allocates for the datum
Bytes Banker::link(Index op, Index datum) {
  Task& task = tasks_[op];
  DatumEntry& d = data_[datum];
  const Index access =
      accesses_.take({op, datum & kDatumBits, 0, 0, d.newest, kNone, task.first_access});
  ESPALIER_ASSERT(access < kLastAccess, "an index of 31 bits");
  task.first_access = access & kLastAccess;
  const bool first = d.newest == kNone;
  (first ? d.oldest : accesses_[d.newest].newer) = access;
  d.newest = access;
  ++d.unended;
  return loose(d) || (first && d.state == State::kAbsent) ? d.size : 0;
}

bool Banker::try_start(Op op) {
  const auto i = static_cast<Index>(op);
  const Task& task = tasks_[i];
  const Bytes more = missing(op);
  if (more == 0 || unlimited_) {
    apply(i);
    return true;
  }
  // To what remains to be done needs: then there is no horizon.
  if (exceeding_) limit_ = std::max(limit_, base_ + order_.peak());
  if (booked_ + more > limit_) return false;
  const auto before = order_.first_above(limit_ - base_);
  if (before && *before <= task.place) return false;
  const Bytes peak = booked_peak_;
  apply(i);
  const auto after = order_.first_above(limit_ - base_);
  if (!after || (before && *after >= *before)) return true;
  revert(i);
  booked_peak_ = peak;
  return false;
}

void Banker::start(Op op) {
  if (!started(op)) apply(static_cast<Index>(op));
}

Bytes Banker::footprint(Op op) const {
  Bytes bytes = 0;
  for_each_datum(op, [&](Datum datum) { bytes += size(datum); });
  return bytes;
}

Bytes Banker::missing(Op op) const {
  Bytes bytes = 0;
  for_each_datum(op, [&](Datum datum) {
    if (!booked(datum)) bytes += size(datum);
  });
  return bytes;
}

void Banker::book(const DatumEntry& datum, Bytes bytes) {
  booked_ += bytes;
  if (!leaving(datum) && !loose(datum)) base_ += bytes;
  note_peak();
}

void Banker::book_beside(Bytes bytes) {
  booked_ += bytes;
  base_ += bytes;
  note_peak();
}

void Banker::note_peak() { booked_peak_ = std::max(booked_peak_, booked_); }

// The task starts: its data are booked, and it no longer stands in the order of those
// that have not started. It leaves that order first: what changes of its own part then
// costs nothing.
void Banker::apply(Index op) {
  Task& task = tasks_[op];
  if (!unlimited_) order_.remove(task.place);
  for (Index i = task.first_access; i != kLastAccess; i = accesses_[i].next) {
    Access& a = accesses_[i];
    DatumEntry& d = data_[a.datum];
    a.booked = d.state == State::kAbsent ? 1 : 0;
    a.refetched = d.state == State::kEvicted ? 1 : 0;
    if (loose(d)) ++d.running;
    if (a.booked != 0 && !loose(d)) change(d.oldest, -d.size, 0);
    if (d.state != State::kBooked) {
      book(d, d.size);
      d.state = State::kBooked;
    }
    (a.older != kNone ? accesses_[a.older].newer : d.oldest) = a.newer;
    (a.newer != kNone ? accesses_[a.newer].older : d.newest) = a.older;
    if (!d.released || a.newer != kNone || loose(d)) continue;
    change(task, 0, -d.size);
    if (d.newest != kNone)
      change(d.newest, 0, d.size);
    else
      base_ -= d.size;
  }
  task.started = 1;
  ++running_;
}

// Undoes apply(), nothing having come between: the same steps backwards. An access that
// left its datum's list still knows where it was.
void Banker::revert(Index op) {
  Task& task = tasks_[op];
  --running_;
  task.started = 0;
  for (Index i = task.first_access; i != kLastAccess; i = accesses_[i].next) {
    const Access& a = accesses_[i];
    DatumEntry& d = data_[a.datum];
    if (loose(d)) --d.running;
    if (d.released && a.newer == kNone && !loose(d)) {
      if (d.newest != kNone)
        change(d.newest, 0, -d.size);
      else
        base_ += d.size;
      change(task, 0, d.size);
    }
    (a.older != kNone ? accesses_[a.older].newer : d.oldest) = i;
    (a.newer != kNone ? accesses_[a.newer].older : d.newest) = i;
    if (a.booked == 0 && a.refetched == 0) continue;
    book(d, -d.size);
    d.state = a.booked != 0 ? State::kAbsent : State::kEvicted;
    if (a.booked != 0 && !loose(d)) change(d.oldest, d.size, 0);
  }
  order_.restore(task.place);
}

void Banker::let_evict() {
  ESPALIER_ASSERT(running_ == 0, "tasks run");
  if (evicting_) return;
  evicting_ = true;
  for (DatumEntry& datum : data_.items())
    if (!datum.stays) loosen(datum);
}

// From being in memory from its first task to its last, to being there for each. A datum
// that was removed has no tasks, and nothing is booked for it.
void Banker::loosen(DatumEntry& d) {
  if (d.state == State::kAbsent && d.oldest != kNone) change(d.oldest, -d.size, 0);
  if (d.released && d.newest != kNone) change(d.newest, 0, -d.size);
  for (Index a = d.oldest; a != kNone; a = accesses_[a].newer) change(a, d.size, d.size);
  if (d.state != State::kBooked) return;
  if (!leaving(d)) base_ -= d.size;
  unload(d);
}

void Banker::unload(DatumEntry& d) {
  booked_ -= d.size;
  d.state = State::kEvicted;
}

}  // namespace espalier
