// Data in memory: where they are, when they are freed, and what a sequential run of the
// order of submission would have needed.

#include <algorithm>

#include "espalier/model/error.h"
#include "policy/core/data_gate.h"

namespace espalier::policy {

// A datum that is in memory already, and was not allocated for a task: it counts from now
// on. kNone when the block is unknown (the application's own), or somebody's already (a
// part of partitioned data).
DataGate::Index DataGate::adopt(const DataAccess& access) {
  const Index block = block_at_.find(access.block);
  if (block == kNone || blocks_[block].owner == Block::kOwned) return kNone;
  Block& b = blocks_[block];
  if (b.owner == Block::kExtra) book_extra(-b.bytes);
  if (!b.counts()) note_allocated(b.bytes);
  if (b.owner == Block::kMessage) note_message(-b.bytes);
  promised_ += b.bytes;
  const Index datum =
      data_.take({access.handle, b.bytes, 0, 0, kNone, kNone, 0,
                  evicting_ && !access.stays ? State::kEvicted : State::kBooked, false,
                  access.stays});
  b.owner = measured_ ? Block::kOwned : Block::kFetched;
  b.datum = datum;
  if (measured_) data_[datum].allocated = b.bytes;
  if (data_[datum].state == State::kBooked) book(data_[datum], b.bytes);
  handles_.put(access.handle, datum);
  return datum;
}

void DataGate::note_allocated(Bytes bytes) {
  report_.allocated += bytes;
  report_.allocated_peak = std::max(report_.allocated_peak, report_.allocated);
}

// Bytes of no known datum: booked until they are freed.
void DataGate::book_extra(Bytes bytes) {
  extra_ += bytes;
  report_.extra_peak = std::max(report_.extra_peak, extra_);
  report_.booked += bytes;
  base_ += bytes;
  note_peak();
}

void DataGate::allocated(const void* block, Bytes bytes, bool for_task) {
  if (const Index unseen = freeing(block); unseen != kNone) {
    left(unseen);
    freed(unseen);
  }
  block_at_.put(
      block, blocks_.take({bytes, kNone, for_task ? Block::kFetched : Block::kForeign}));
  if (!for_task) return;
  note_allocated(bytes);
}

void DataGate::allocated_for_message(const void* block, Bytes bytes) {
  allocated(block, bytes, false);
  Block& b = blocks_[block_at_.find(block)];
  b.owner = Block::kMessage;
  if (b.counts()) note_allocated(bytes);
  note_message(bytes);
}

// One more, or with negative bytes one less.
void DataGate::note_message(Bytes bytes) {
  message_bytes_ += bytes;
  message_blocks_ += bytes < 0 ? -1 : 1;
  report_.message_peak = std::max(report_.message_peak, message_bytes_);
  report_.messages_peak = std::max(report_.messages_peak, message_blocks_);
}

void DataGate::fetched(Op op, std::span<const void* const> blocks,
                       std::span<const DataAccess> places) {
  if (!measured_) return;
  const Index first = op != Op::kNone ? ops_[index(op)].first_access : kNone;
  for (const DataAccess& place : places) {
    const Index block = block_at_.find(place.block);
    if (block == kNone) continue;
    for (Index a = first; a != kNone; a = accesses_[a].next)
      if (data_[accesses_[a].datum].handle == place.handle) put(accesses_[a], block);
  }
  // Further blocks of data that consist of several, and buffers of one worker.
  for (const void* const address : blocks) {
    const Index block = block_at_.find(address);
    if (block == kNone || blocks_[block].owner != Block::kFetched) continue;
    Index best = kNone;
    for (Index a = first; a != kNone; a = accesses_[a].next) {
      const Datum& d = data_[accesses_[a].datum];
      if (d.allocated < d.size) best = a;
    }
    if (best != kNone) {
      own(accesses_[best], block);
      continue;
    }
    Block& b = blocks_[block];
    b.owner = Block::kExtra;
    book_extra(b.bytes);
  }
}

bool DataGate::fetched_alone(Op op, const void* block, std::size_t blocks) {
  if (!measured_) return true;
  if (op == Op::kNone || blocks != 1) return false;
  Index only = kNone;
  for (Index a = ops_[index(op)].first_access; a != kNone; a = accesses_[a].next) {
    if (data_[accesses_[a].datum].allocated > 0) continue;
    if (only != kNone) return false;
    only = a;
  }
  if (only == kNone) return false;
  own(accesses_[only], block_at_.find(block));
  return true;
}

// The datum turns out to be in this block.
void DataGate::put(const Access& access, Index block) {
  const Index datum = access.datum;
  Block& b = blocks_[block];
  if (b.owner == Block::kOwned) {
    // The handle's datum from before it was released, if that did not free it after all
    // (starpu_data_deinitialize_submit), gives it up. A part of another datum does not.
    const Index before = b.datum;
    // Where data are evicted, another of the same size may have been given its block.
    Datum& old = data_[before];
    const bool handed_on = loose(old) && b.bytes == data_[datum].size;
    if (before == datum || (old.handle != data_[datum].handle && !handed_on)) return;
    old.allocated -= b.bytes;
    report_.allocated -= b.bytes;
    b.owner = Block::kForeign;
    if (old.allocated == 0 && old.unended == 0 && old.released) give_back(before);
  }
  own(access, block);
}

void DataGate::own(const Access& access, Index block) {
  Datum& d = data_[access.datum];
  Block& b = blocks_[block];
  if (!b.counts()) note_allocated(b.bytes);
  if (b.owner == Block::kMessage) note_message(-b.bytes);
  if (loose(d) && d.allocated > 0 && d.allocated + b.bytes > d.size) {
    // It has been evicted since, and what it had given to others that have not said so.
    for (Block& former : blocks_.items)
      if (former.owner == Block::kOwned && former.datum == access.datum)
        former.owner = Block::kFetched;
    d.allocated = 0;
  }
  b.owner = Block::kOwned;
  b.datum = access.datum;
  d.allocated += b.bytes;
  if (d.state == State::kEvicted && !loose(d)) {
    d.state = State::kBooked;
    book(d, d.size);
  }
  const Bytes excess = d.allocated - d.size;
  if (excess <= 0) return;
  ++report_.underestimates;
  report_.underestimated_bytes = std::max(report_.underestimated_bytes, excess);
  d.size += excess;
  promised_ += excess;
  if (d.state == State::kBooked) book(d, excess);
  steps_[ops_[access.op].sequence - first_step_].alloc += excess;
  if (!d.released) return;
  step_frees(d, excess);
  if (d.newest != kNone && !loose(d)) change(ops_[accesses_[d.newest].op], 0, excess);
}

bool DataGate::unplaced(Op op) const {
  if (!measured_) return false;
  for (Index a = ops_[index(op)].first_access; a != kNone; a = accesses_[a].next)
    if (data_[accesses_[a].datum].allocated == 0) return true;
  return false;
}

std::uint32_t DataGate::freeing(const void* block, bool evicted) {
  const Index index = block_at_.erase(block);
  if (index != kNone) blocks_[index].evicted = evicted;
  return index;
}

void DataGate::left(Index block) {
  if (block == kNone) return;
  const Block& b = blocks_[block];
  if (b.counts()) report_.allocated -= b.bytes;
  if (b.owner == Block::kMessage) note_message(-b.bytes);
}

bool DataGate::freed(Index block) {
  if (block == kNone) return false;
  const Block b = blocks_[block];
  blocks_.give_back(block);
  if (b.owner == Block::kExtra) {
    book_extra(-b.bytes);
    return true;
  }
  if (b.owner != Block::kOwned) return false;
  Datum& d = data_[b.datum];
  d.allocated -= b.bytes;
  if (d.allocated > 0) return false;
  if (b.evicted && loose(d) && !(d.released && d.unended == 0))
    return false;  // it comes back from the disk
  if (d.unended == 0) {
    drop(b.datum);
    return true;
  }
  if (d.state == State::kBooked && !loose(d)) {
    book(d, -d.size);
    d.state = State::kEvicted;
  }
  // Data in use are not freed: all tasks on it have ended, which will be seen later, and
  // its handle may be another datum's.
  if (d.newest == kNone && !d.released) forget(d);
  return true;
}

void DataGate::end(Op op) {
  start(op);
  const Index i = index(op);
  Task& task = ops_[i];
  for (Index a = task.first_access; a != kNone;) {
    const Access access = accesses_[a];
    accesses_.give_back(a);
    a = access.next;
    Datum& d = data_[access.datum];
    if (loose(d) && --d.running == 0) {
      report_.booked -= d.size;
      d.state = State::kEvicted;
    }
    if (--d.unended == 0 && d.released && (d.allocated == 0 || !measured_))
      give_back(access.datum);
  }
  if (task.message != 0) messages_.erase(task.sequence);
  steps_[task.sequence - first_step_].end();
  retire_steps();
  tasks_.erase(task.task);
  --started_;
  ops_.give_back(i);
}

// The datum is gone without notice: nobody works on it.
void DataGate::drop(Index datum) {
  Datum& d = data_[datum];
  if (!d.released) {
    if (d.state == State::kBooked && !loose(d)) base_ -= d.size;
    forget(d);
  }
  give_back(datum);
}

// What is submitted from now on for the handle works on another datum.
void DataGate::forget(Datum& d) {
  step_frees(d, d.size);
  handles_.erase(d.handle);
  d.released = true;
}

// The datum has been freed, and was released before.
void DataGate::give_back(Index datum) {
  Datum& d = data_[datum];
  if (d.state == State::kBooked) report_.booked -= d.size;
  if (dying_.find(d.handle) == datum) dying_.erase(d.handle);
  promised_ -= d.size;
  d.state = State::kAbsent;
  data_.give_back(datum);
}

void DataGate::step_frees(const Datum& d, Bytes bytes) {
  if (d.last < first_step_)
    sequential_ -= bytes;
  else
    steps_[d.last - first_step_].add_free(bytes);
}

void DataGate::retire_steps() {
  for (; !steps_.empty() && steps_.front().ended(); ++first_step_) {
    report_.least = std::max(report_.least, sequential_ + steps_.front().alloc);
    sequential_ += steps_.front().alloc - steps_.front().free();
    steps_.pop_front();
  }
}

DataGateReport DataGate::report() const {
  DataGateReport report = report_;
  Bytes memory = sequential_;
  for (const Step& step : steps_) {
    report.least = std::max(report.least, memory + step.alloc);
    memory += step.alloc - step.free();
  }
  return report;
}

}  // namespace espalier::policy
