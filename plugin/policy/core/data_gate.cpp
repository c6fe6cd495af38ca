// Submission and admission. What becomes of data in memory is in data_gate_memory.cpp,
// and what happens when the bound does not suffice in data_gate_overflow.cpp.

#include "policy/core/data_gate.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::policy {

namespace {

// Held tasks that are tried, oldest first, each time memory has been given back. The
// oldest ones are what the order of submission needs next; letting later ones overtake
// fills memory with data that nobody can use yet.
constexpr std::size_t kTried = 8;

constexpr Bytes kMostPromised = DataGate::kUnlimited;

}  // namespace

DataGate::DataGate(Bytes bound, bool measured)
    : bound_(bound),
      measured_(measured),
      unlimited_(bound >= kUnlimited),
      limit_(bound),
      witness_([this](Index op, WitnessTree::Place p) { ops_[op].place = p; }) {}

DataGate::Op DataGate::submit(const void* task, std::span<const DataAccess> accesses) {
  return submit(task, accesses, false);
}

DataGate::Op DataGate::submit_message(const void* message, const DataAccess& access) {
  return submit(message, {&access, 1}, true);
}

DataGate::Op DataGate::submit(const void* task, std::span<const DataAccess> accesses,
                              bool message) {
  if (const Op unseen = find(task); unseen != Op::kNone)
    end(unseen);  // its end was not seen
  Bytes sum = promised_;
  for (const DataAccess& access : accesses)
    if (access.size > kMostPromised - sum)
      throw OverflowError("the data of all tasks are larger than 2^62 bytes together");
    else
      sum += handles_.find(access.handle) == kNone ? access.size : 0;
  Bytes sequential = 0;
  needed_.clear();
  for (const DataAccess& access : accesses)
    if (const Index datum = datum_for(access, sequential); datum != kNone)
      needed_.push_back(datum);
  if (needed_.empty()) return Op::kNone;
  const Index op = ops_.take(
      {const_cast<void*>(task), next_sequence_ & kNumber, 0, message, kNone, 0});
  Bytes alloc = 0, free = 0;
  for (const Index datum : needed_) {
    alloc += link(op, datum);
    if (loose(data_[datum])) free += data_[datum].size;
  }
  if (!unlimited_) ops_[op].place = witness_.append(op, alloc);
  if (free > 0) change(ops_[op], 0, free);
  steps_.emplace_back().alloc = sequential;
  tasks_.put(task, op);
  if (message)
    messages_.insert(next_sequence_);
  else
    ++report_.tasks;
  ++next_sequence_;
  return Op{op};
}

bool DataGate::allocates(const DataAccess& access) const {
  if (const Index known = handles_.find(access.handle); known != kNone) {
    const Datum& d = data_[known];
    if (d.unended > 0 || d.allocated > 0 || access.block != nullptr) return false;
  }
  return access.size > 0 &&
         (access.block == nullptr || dying_.find(access.handle) != kNone);
}

bool DataGate::adopts(std::span<const DataAccess> accesses) const {
  return std::any_of(accesses.begin(), accesses.end(), [this](const DataAccess& a) {
    return a.block != nullptr && handles_.find(a.handle) == kNone;
  });
}

// Index of the datum behind the handle, kNone when it costs nothing. `sequential` grows
// by what it takes from here on.
DataGate::Index DataGate::datum_for(const DataAccess& access, Bytes& sequential) {
  if (const Index known = handles_.find(access.handle); known != kNone) {
    const Datum& d = data_[known];
    // A handle of the same address can be another one, when the first was unregistered
    // without notice. Where frees are seen, that has been noticed.
    if (d.unended > 0 || d.allocated > 0 || access.block != nullptr || access.on_disk)
      return known;
    drop(known);
  }
  // What is in memory of a handle that was released is on its way out.
  if (access.block != nullptr && dying_.find(access.handle) == kNone) {
    const Index datum = adopt(access);
    if (datum != kNone) sequential += data_[datum].size;
    return datum;
  }
  if (access.size <= 0) return kNone;
  promised_ += access.size;
  sequential += access.size;
  const Index datum = data_.take({access.handle, access.size, 0, 0, kNone, kNone, 0,
                                  State::kAbsent, false, access.stays});
  handles_.put(access.handle, datum);
  return datum;
}

// @return what the task allocates for the datum
Bytes DataGate::link(Index op, Index datum) {
  Task& task = ops_[op];
  Datum& d = data_[datum];
  const Index access =
      accesses_.take({op, datum & kDatum, 0, 0, d.newest, kNone, task.first_access});
  task.first_access = access;
  const bool first = d.newest == kNone;
  (first ? d.oldest : accesses_[d.newest].newer) = access;
  d.newest = access;
  d.last = task.sequence;
  ++d.unended;
  return loose(d) || (first && d.state == State::kAbsent) ? d.size : 0;
}

void DataGate::release(const void* handle) {
  const Index datum = handles_.erase(handle);
  if (datum == kNone) return;
  Datum& d = data_[datum];
  d.released = true;
  dying_.put(handle, datum);
  step_frees(d, d.size);
  if (d.newest != kNone) {
    if (!loose(d)) change(ops_[accesses_[d.newest].op], 0, d.size);
    return;
  }
  if (d.state == State::kBooked && !loose(d)) base_ -= d.size;
  if (d.unended == 0 && d.allocated == 0) give_back(datum);
}

bool DataGate::ready(Op op, Seconds now) {
  const Index i = index(op);
  if (ops_[i].started != 0 || try_start(i)) return true;
  count_held(now);
  hold(i);
  ++report_.held_tasks;
  return false;
}

void DataGate::start(Op op) {
  if (ops_[index(op)].started == 0) apply(index(op));
}

// Up to now, as many waited as are held.
void DataGate::count_held(Seconds now) {
  report_.held_time += static_cast<Seconds>(held_.size()) * (now - counted_);
  counted_ = now;
}

void DataGate::hold(Index op) {
  held_.push_back(op);
  std::push_heap(held_.begin(), held_.end(), later());
}

DataGate::Index DataGate::take_first_held() {
  std::pop_heap(held_.begin(), held_.end(), later());
  const Index first = held_.back();
  held_.pop_back();
  return first;
}

void DataGate::admit_held(Seconds now, std::vector<void*>& admitted) {
  count_held(now);
  std::vector<Index> refused;
  while (!held_.empty() && (refused.size() < kTried || started_ == 0)) {
    const Index op = take_first_held();
    if (try_start(op))
      admitted.push_back(ops_[op].task);
    else
      refused.push_back(op);
  }
  for (const Index op : refused) hold(op);
}

bool DataGate::awaits_message() const {
  return !held_.empty() && !messages_.empty() &&
         *messages_.begin() < ops_[held_.front()].sequence;
}

bool DataGate::try_start(Index op) {
  const Task& task = ops_[op];
  const Bytes more = to_allocate(task);
  if (more == 0 || unlimited_) {
    apply(op);
    return true;
  }
  if (exceeding_) raise_limit();
  if (report_.booked + more > limit_) return false;
  const auto before = witness_.first_above(limit_ - base_);
  if (before && *before <= task.place) return false;
  const DataGateReport kept = report_;
  apply(op);
  const auto after = witness_.first_above(limit_ - base_);
  if (!after || (before && *after >= *before)) return true;
  revert(op);
  report_ = kept;
  return false;
}

Bytes DataGate::to_allocate(const Task& task) const {
  Bytes bytes = 0;
  for (Index a = task.first_access; a != kNone; a = accesses_[a].next) {
    const Datum& d = data_[accesses_[a].datum];
    if (d.state != State::kBooked) bytes += d.size;
  }
  return bytes;
}

Bytes DataGate::footprint(Op op) const {
  Bytes bytes = 0;
  for (Index a = ops_[index(op)].first_access; a != kNone; a = accesses_[a].next)
    bytes += data_[accesses_[a].datum].size;
  return bytes;
}

Bytes DataGate::needed_now() const {
  if (held_.empty()) return 0;
  return report_.booked + to_allocate(ops_[held_.front()]);
}

const void* DataGate::first_held() const {
  return held_.empty() ? nullptr : ops_[held_.front()].task;
}

bool DataGate::first_is_held() const {
  return !held_.empty() && witness_.first() == ops_[held_.front()].place;
}

void DataGate::book(Datum& datum, Bytes bytes) {
  report_.booked += bytes;
  if (!doomed(datum) && !loose(datum)) base_ += bytes;
  note_peak();
}

void DataGate::note_peak() {
  report_.booked_peak = std::max(report_.booked_peak, report_.booked);
  report_.over_bound = std::max(report_.over_bound, report_.booked - bound_);
}

// The task starts: its data are booked, and it no longer stands in the order of those
// that have not started. It leaves that order first: what changes of its own part then
// costs nothing.
void DataGate::apply(Index op) {
  Task& task = ops_[op];
  if (!unlimited_) witness_.remove(task.place);
  for (Index i = task.first_access; i != kNone; i = accesses_[i].next) {
    Access& a = accesses_[i];
    Datum& d = data_[a.datum];
    a.booked = d.state == State::kAbsent ? 1 : 0;
    a.refetched = d.state == State::kEvicted ? 1 : 0;
    if (loose(d)) ++d.running;
    if (a.booked != 0 && !loose(d)) change(ops_[accesses_[d.oldest].op], -d.size, 0);
    if (d.state != State::kBooked) {
      book(d, d.size);
      d.state = State::kBooked;
    }
    (a.older != kNone ? accesses_[a.older].newer : d.oldest) = a.newer;
    (a.newer != kNone ? accesses_[a.newer].older : d.newest) = a.older;
    if (!d.released || a.newer != kNone || loose(d)) continue;
    change(task, 0, -d.size);
    if (d.newest != kNone)
      change(ops_[accesses_[d.newest].op], 0, d.size);
    else
      base_ -= d.size;
  }
  task.started = 1;
  ++started_;
}

// Undoes apply(), nothing having come between: the same steps backwards. An access that
// left its datum's list still knows where it was.
void DataGate::revert(Index op) {
  Task& task = ops_[op];
  --started_;
  task.started = 0;
  for (Index i = task.first_access; i != kNone; i = accesses_[i].next) {
    const Access& a = accesses_[i];
    Datum& d = data_[a.datum];
    if (loose(d)) --d.running;
    if (d.released && a.newer == kNone && !loose(d)) {
      if (d.newest != kNone)
        change(ops_[accesses_[d.newest].op], 0, -d.size);
      else
        base_ += d.size;
      change(task, 0, d.size);
    }
    (a.older != kNone ? accesses_[a.older].newer : d.oldest) = i;
    (a.newer != kNone ? accesses_[a.newer].older : d.newest) = i;
    if (a.booked == 0 && a.refetched == 0) continue;
    book(d, -d.size);
    d.state = a.booked != 0 ? State::kAbsent : State::kEvicted;
    if (a.booked != 0 && !loose(d)) change(ops_[accesses_[d.oldest].op], d.size, 0);
  }
  witness_.restore(task.place);
}

}  // namespace espalier::policy
