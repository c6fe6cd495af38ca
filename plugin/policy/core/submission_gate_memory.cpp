// Blocks and the data that they belong to.

#include <algorithm>

#include "policy/core/submission_gate.h"

namespace espalier::policy {

// A datum that is in memory already, and was not allocated for a task: it counts from now
// on. kNone when the block is unknown (the application's own), or somebody's already (a
// part of partitioned data). A sequential run has blocks from outside from their
// allocation on, when tasks may have been waiting for room that come before this one.
SubmissionGate::Datum SubmissionGate::adopt(const DataAccess& access, Bytes& sequential) {
  const Block block = ledger_.at(access.block);
  if (block == Block::kNone || ledger_.owner(block) == Owner::kOwned) return Datum::kNone;
  const bool counted = ledger_.owner(block) == Owner::kOutside;
  banker_.book_beside(-ledger_.fetch(block));
  const Datum datum = add(access, ledger_.bytes(block), true);
  if (!counted) sequential += rule().size(datum);
  if (measured_) ledger_.give(block, datum);
  return datum;
}

void SubmissionGate::allocated(const void* block, Bytes bytes, bool for_task) {
  if (const std::uint32_t unseen = freeing(block); Block{unseen} != Block::kNone) {
    left(unseen);
    freed(unseen);
  }
  ledger_.add(block, bytes, for_task ? Owner::kFetched : Owner::kForeign);
}

void SubmissionGate::allocated_outside(const void* block, Bytes bytes) {
  if (!measured_) return allocated(block, bytes, false);
  if (const std::uint32_t unseen = freeing(block); Block{unseen} != Block::kNone) {
    left(unseen);
    freed(unseen);
  }
  ledger_.add(block, bytes, Owner::kOutside);
  book_beside(Owner::kOutside, bytes);
}

// What is booked already has been found, or was in memory when it was submitted.
void SubmissionGate::found(Op op, std::span<const DataAccess> places) {
  Datum latest = Datum::kNone;
  for (const DataAccess& place : places) {
    const Block block = ledger_.at(place.block);
    if (block == Block::kNone || ledger_.owner(block) != Owner::kOutside) continue;
    Datum found = Datum::kNone;
    rule().for_each_datum(op, [&](Datum datum) {
      if (banker_.handle(datum) == place.handle) found = datum;
    });
    if (found == Datum::kNone || (rule().booked(found) && found != latest)) continue;
    latest = found;
    own(op, found, block);
    banker_.find_allocated(found);
  }
}

// Of blocks without a datum.
void SubmissionGate::book_beside(Owner owner, Bytes bytes) {
  if (owner == Owner::kOutside)
    banker_.book_outside(bytes);
  else
    banker_.book_beside(bytes);
}

void SubmissionGate::allocated_for_message(const void* block, Bytes bytes) {
  if (const std::uint32_t unseen = freeing(block); Block{unseen} != Block::kNone) {
    left(unseen);
    freed(unseen);
  }
  ledger_.add(block, bytes, Owner::kMessage);
}

void SubmissionGate::fetched(Op op, std::span<const void* const> blocks,
                             std::span<const DataAccess> places) {
  if (!measured_) return;
  const auto for_each_datum = [&](auto&& visit) {
    if (op != Op::kNone) rule().for_each_datum(op, visit);
  };
  for (const DataAccess& place : places) {
    const Block block = ledger_.at(place.block);
    if (block == Block::kNone) continue;
    if (const Datum known = banker_.known(place.handle);
        op == Op::kNone && known != Datum::kNone)
      put(op, known, block);
    for_each_datum([&](Datum datum) {
      if (banker_.handle(datum) == place.handle) put(op, datum, block);
    });
  }
  // Further blocks of data that consist of several, and buffers of one worker.
  given_.clear();
  for (const void* const address : blocks) {
    const Block block = ledger_.at(address);
    if (block == Block::kNone || ledger_.owner(block) != Owner::kFetched) continue;
    const Datum incomplete = op != Op::kNone ? incomplete_for(op, block) : Datum::kNone;
    if (incomplete != Datum::kNone) {
      own(op, incomplete, block);
      given_.push_back(incomplete);
    } else {
      ledger_.set_extra(block);
      banker_.book_beside(ledger_.bytes(block));
    }
  }
}

// Of the task's data that have not all their blocks, the one that this is likely to
// belong to. The task has one buffer of those that are one for each worker; they come in
// the order of the data, which are visited from the last to the first.
SubmissionGate::Datum SubmissionGate::incomplete_for(Op op, Block block) const {
  const Bytes bytes = ledger_.bytes(block);
  Datum likely = Datum::kNone;
  int likelihood = 0;
  rule().for_each_datum(op, [&](Datum datum) {
    const Bytes size = rule().size(datum), rest = size - ledger_.allocated(datum);
    if (rest <= 0) return;
    const bool fits = bytes <= rest;
    const bool is_buffer = fits && banker_.buffers(datum) && bytes > 0 &&
                           size % bytes == 0 && rest % bytes == 0;
    const bool given = std::find(given_.begin(), given_.end(), datum) != given_.end();
    const int here = is_buffer                         ? (given ? 3 : 4)
                     : fits && !banker_.buffers(datum) ? 2
                                                       : 1;
    if (here < likelihood) return;
    likelihood = here;
    likely = datum;
  });
  return likely;
}

bool SubmissionGate::fetched_alone(Op op, const void* block, std::size_t blocks) {
  if (!measured_) return true;
  if (op == Op::kNone || blocks != 1) return false;
  Datum only = Datum::kNone;
  int possible = 0;
  rule().for_each_datum(op, [&](Datum datum) {
    const Bytes allocated = ledger_.allocated(datum);
    const bool complete =
        banker_.buffers(datum) ? allocated >= rule().size(datum) : allocated > 0;
    if (complete) return;
    only = datum;
    ++possible;
  });
  if (possible != 1) return false;
  own(op, only, ledger_.at(block));
  return true;
}

// The datum turns out to be in this block.
void SubmissionGate::put(Op op, Datum datum, Block block) {
  if (ledger_.owner(block) == Owner::kOwned) {
    // The handle's datum from before it was released, if that did not free it after all
    // (starpu_data_deinitialize_submit), gives it up. A part of another datum does not.
    const Datum before = ledger_.datum(block);
    // Where data are evicted, another of the same size may have been given its block.
    const bool handed_on =
        rule().loose(before) && ledger_.bytes(block) == rule().size(datum);
    const bool renamed = banker_.handle(before) == banker_.handle(datum);
    if (before == datum || (!renamed && !handed_on)) return;
    ledger_.disown(block);
    if (ledger_.allocated(before) == 0 && !rule().in_use(before) &&
        rule().released(before))
      banker_.remove(before);
  }
  own(op, datum, block);
}

void SubmissionGate::own(Op op, Datum datum, Block block) {
  const Bytes already = ledger_.allocated(datum);
  // It has been evicted since, and what it had given to others that have not said so.
  if (rule().loose(datum) && already > 0 &&
      already + ledger_.bytes(block) > rule().size(datum))
    ledger_.disown_all(datum);
  const Owner before = ledger_.owner(block);
  book_beside(before, -ledger_.give(block, datum));
  banker_.regain(datum);
  if (op != Op::kNone) take_excess(op, datum);
}

void SubmissionGate::take_excess(Op op, Datum datum) {
  const Bytes excess = ledger_.allocated(datum) - rule().size(datum);
  if (excess <= 0) return;
  ++underestimates_;
  underestimated_bytes_ = std::max(underestimated_bytes_, excess);
  banker_.grow(datum, excess, op);
}

bool SubmissionGate::unplaced(Op op) const {
  if (!measured_) return false;
  bool any = false;
  rule().for_each_datum(op,
                        [&](Datum datum) { any = any || ledger_.allocated(datum) == 0; });
  return any;
}

void SubmissionGate::left(std::uint32_t block) {
  if (Block{block} != Block::kNone) ledger_.left(Block{block});
}

bool SubmissionGate::freed(std::uint32_t block) {
  if (Block{block} == Block::kNone) return false;
  const auto [bytes, owner, datum, evicted] = ledger_.freed(Block{block});
  if (owner == Owner::kExtra || owner == Owner::kOutside) {
    book_beside(owner, -bytes);
    return true;
  }
  if (owner != Owner::kOwned || ledger_.allocated(datum) > 0) return false;
  const bool idle = !rule().in_use(datum);
  // It comes back from the disk.
  if (evicted && rule().evicts() && !(rule().released(datum) && idle)) return false;
  if (idle) {
    banker_.remove(datum);  // gone without notice where it was not released
    return true;
  }
  banker_.lose(datum);
  // Data in use are not freed: all tasks on it have ended, which will be seen later, and
  // its handle may be another datum's.
  if (!rule().awaited(datum) && !rule().released(datum)) banker_.forget(datum, true);
  return true;
}

}  // namespace espalier::policy
