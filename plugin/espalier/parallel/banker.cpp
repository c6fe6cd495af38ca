#include "espalier/parallel/banker.h"

#include "espalier/model/error.h"

namespace espalier {

Banker::Banker(Bytes bound)
    : rule_(bound, [this](std::uint32_t op, PrefixPeakTree::Place place) {
        accesses_.set_place(Op{op}, place);
      }) {}

Banker::Datum Banker::add(Bytes size, bool in_memory, bool stays) {
  const State there = evicts() && !stays ? State::kEvicted : State::kBooked;
  const Datum datum =
      accesses_.add({size, ProgramAccesses::kNone, ProgramAccesses::kNone, 0,
                     in_memory ? there : State::kAbsent, false, stays});
  if (booked(datum)) book(accesses_.at(datum), size);
  return datum;
}

void Banker::grow(Datum datum, Bytes more) {
  DatumEntry& d = accesses_.at(datum);
  d.size += more;
  if (d.state == State::kBooked) book(d, more);
  if (d.released && awaited(datum) && !loose(datum))
    rule_.change(accesses_.last(d), 0, more);
}

void Banker::release(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  d.released = true;
  if (loose(datum)) return;
  if (awaited(datum))
    rule_.change(accesses_.last(d), 0, d.size);
  else if (d.state == State::kBooked)
    rule_.let_go(d.size);
}

void Banker::remove(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  if (!d.released) release(datum);
  if (d.state == State::kBooked) rule_.book(-d.size, false);
  d.state = State::kAbsent;
  accesses_.remove(datum);
}

void Banker::keep(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  if (loose(datum)) tighten(d);
  d.stays = true;
}

void Banker::lose(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  if (d.state != State::kBooked || loose(datum)) return;
  book(d, -d.size);
  d.state = State::kEvicted;
}

void Banker::regain(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  if (d.state != State::kEvicted || loose(datum)) return;
  d.state = State::kBooked;
  book(d, d.size);
}

void Banker::find_allocated(Datum datum) {
  DatumEntry& d = accesses_.at(datum);
  if (d.state != State::kAbsent || loose(datum)) return;
  if (awaited(datum)) rule_.change(accesses_.first(d), -d.size, 0);
  d.state = State::kBooked;
  book(d, d.size);
}

Banker::Op Banker::append(std::span<const Datum> data) {
  const Op op = accesses_.append();
  Bytes alloc = 0, free = 0;
  for (const Datum datum : data) {
    const DatumEntry& d = accesses_.at(datum);
    const bool first = !awaited(datum);
    if (loose(datum) || (first && d.state == State::kAbsent)) alloc += d.size;
    if (loose(datum)) free += d.size;
    accesses_.link(op, datum);
  }
  if (!rule_.unlimited())
    accesses_.set_place(op, rule_.order().append(static_cast<std::uint32_t>(op), alloc));
  if (free > 0) rule_.change(accesses_.place(op), 0, free);
  return op;
}

bool Banker::try_start(Op op) { return rule_.try_start(accesses_, op); }

void Banker::start(Op op) {
  if (!started(op)) rule_.start(accesses_, op);
}

Bytes Banker::footprint(Op op) const {
  Bytes bytes = 0;
  for_each_datum(op, [&](Datum datum) { bytes += size(datum); });
  return bytes;
}

void Banker::let_evict() {
  ESPALIER_ASSERT(running() == 0, "tasks run");
  if (evicts()) return;
  accesses_.let_evict();
  for (DatumEntry& datum : accesses_.data())
    if (!datum.stays) loosen(datum);
}

// From being in memory from its first task to its last, to being there for each. A datum
// that was removed has no tasks, and nothing is booked for it.
void Banker::loosen(DatumEntry& d) {
  const bool awaited = d.newest != ProgramAccesses::kNone;
  if (awaited && d.state == State::kAbsent) rule_.change(accesses_.first(d), -d.size, 0);
  if (awaited && d.released) rule_.change(accesses_.last(d), 0, -d.size);
  accesses_.for_each_place(
      d, [&](PrefixPeakTree::Place place) { rule_.change(place, d.size, d.size); });
  if (d.state != State::kBooked) return;
  if (!d.leaving()) rule_.let_go(d.size);
  unload(d);
}

// The other way, of a datum that is still loose.
void Banker::tighten(DatumEntry& d) {
  const bool awaited = d.newest != ProgramAccesses::kNone;
  accesses_.for_each_place(
      d, [&](PrefixPeakTree::Place place) { rule_.change(place, -d.size, -d.size); });
  if (d.state == State::kBooked) {
    if (!d.leaving()) rule_.let_go(-d.size);
  } else if (awaited) {
    d.state = State::kAbsent;
    rule_.change(accesses_.first(d), d.size, 0);
  } else if (d.state == State::kEvicted && !d.released) {
    d.state = State::kBooked;
    rule_.book(d.size, true);
  }
  if (awaited && d.released) rule_.change(accesses_.last(d), 0, d.size);
}

}  // namespace espalier
