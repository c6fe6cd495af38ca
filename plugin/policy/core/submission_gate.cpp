// Submission and admission. What becomes of data in memory is in
// submission_gate_memory.cpp.

#include "policy/core/submission_gate.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier::policy {

namespace {

// Held tasks that are tried, oldest first, each time memory has been given back. The
// oldest ones are what the order of submission needs next; letting later ones overtake
// fills memory with data that nobody can use yet.
constexpr std::size_t kTried = 8;
// The same when nothing runs: the first may be waiting for what lets later ones start.
// There can be as many as the program has submitted, each time a task ends.
constexpr std::size_t kTriedWhenIdle = 64;

}  // namespace

SubmissionGate::SubmissionGate(Bytes bound, bool measured)
    : measured_(measured), banker_(bound) {}

SubmissionGate::Op SubmissionGate::submit(const void* task,
                                          std::span<const DataAccess> accesses) {
  return submit(task, accesses, false);
}

SubmissionGate::Op SubmissionGate::submit_message(const void* message,
                                                  std::span<const DataAccess> accesses) {
  return submit(message, accesses, true);
}

SubmissionGate::Op SubmissionGate::submit(const void* task,
                                          std::span<const DataAccess> accesses,
                                          bool message) {
  if (const Op unseen = find(task); unseen != Op::kNone)
    end(unseen);  // its end was not seen
  Bytes room = banker_.room();
  for (const DataAccess& access : accesses) {
    if (access.size > room)
      throw OverflowError("the data of all tasks are larger than 2^62 bytes together");
    if (banker_.named(access.handle) == Datum::kNone) room -= access.size;
  }
  Bytes sequential = 0;
  needed_.clear();
  for (const DataAccess& access : accesses)
    if (const Datum datum = datum_for(access, sequential); datum != Datum::kNone)
      needed_.push_back(datum);
  if (needed_.empty()) return Op::kNone;
  if (!message) ++tasks_;
  return banker_.submit(const_cast<void*>(task), needed_, sequential, message);
}

void SubmissionGate::pass(std::span<const DataAccess> accesses) {
  needed_.clear();
  for (const DataAccess& access : accesses)
    if (const Datum datum = banker_.named(access.handle); datum != Datum::kNone)
      needed_.push_back(datum);
  if (!needed_.empty()) banker_.pass(needed_);
}

// A handle of the same address can be another one, when the first was unregistered
// without notice. Where frees are seen, that has been noticed.
bool SubmissionGate::in_memory(Datum datum, const DataAccess& access) const {
  return rule().in_use(datum) || ledger_.allocated(datum) > 0 || access.block != nullptr;
}

bool SubmissionGate::allocates(const DataAccess& access) const {
  const Datum known = banker_.named(access.handle);
  if (known != Datum::kNone && in_memory(known, access)) return false;
  return access.size > 0 &&
         (access.block == nullptr || banker_.was_released(access.handle));
}

bool SubmissionGate::adopts(std::span<const DataAccess> accesses) const {
  return std::any_of(accesses.begin(), accesses.end(), [this](const DataAccess& a) {
    return a.block != nullptr && banker_.named(a.handle) == Datum::kNone;
  });
}

bool SubmissionGate::provides(std::span<const DataAccess> accesses) const {
  return std::all_of(accesses.begin(), accesses.end(), [this](const DataAccess& a) {
    if (a.size == 0) return true;
    const Datum datum = banker_.known(a.handle);
    return datum != Datum::kNone && !rule().loose(datum);
  });
}

// The datum behind the handle, kNone when it costs nothing. `sequential` grows by what it
// takes from here on.
SubmissionGate::Datum SubmissionGate::datum_for(const DataAccess& access,
                                                Bytes& sequential) {
  if (const Datum known = banker_.named(access.handle); known != Datum::kNone) {
    if (access.stays) banker_.keep(known);
    if (in_memory(known, access) || access.on_disk) return known;
    banker_.remove(known);
  }
  // What is in memory of a handle that was released is on its way out.
  const bool there = access.block != nullptr && !banker_.was_released(access.handle);
  if (there) return adopt(access, sequential);
  if (access.size <= 0) return Datum::kNone;
  sequential += access.size;
  return add(access, access.size, false);
}

SubmissionGate::Datum SubmissionGate::add(const DataAccess& access, Bytes size,
                                          bool in_memory) {
  const Datum datum = banker_.add(access.handle, size, in_memory, access.stays);
  if (access.buffers) banker_.set_buffers(datum);
  ledger_.begin(datum);
  return datum;
}

void SubmissionGate::release(const void* handle) {
  const Datum datum = banker_.named(handle);
  if (datum == Datum::kNone) return;
  banker_.release(datum);
  if (!rule().in_use(datum) && ledger_.allocated(datum) == 0) banker_.remove(datum);
}

bool SubmissionGate::ready(Op op, Seconds now) {
  if (started(op) || banker_.try_start(op)) return true;
  held_.count_to(now);
  hold(op);
  ++held_tasks_;
  return false;
}

void SubmissionGate::admit_held(Seconds now, std::vector<void*>& admitted, bool all) {
  held_.count_to(now);
  std::vector<Op> refused;
  const auto tries_another = [&] {
    const bool idle = rule().running() == 0;
    return refused.size() < (idle ? kTriedWhenIdle : kTried) || (idle && all);
  };
  while (!held_.empty() && tries_another()) {
    const Op op = held_.take_first();
    if (banker_.try_start(op))
      admitted.push_back(banker_.task(op));
    else
      refused.push_back(op);
  }
  for (const Op op : refused) hold(op);
}

void* SubmissionGate::admit_unproven(Seconds now) {
  held_.count_to(now);
  std::vector<Op> refused;
  void* task = nullptr;
  while (!held_.empty() && task == nullptr) {
    const Op op = held_.take_first();
    if (!rule().fits(op)) {
      refused.push_back(op);
      continue;
    }
    banker_.start(op);
    ++unproven_;
    task = banker_.task(op);
  }
  for (const Op op : refused) hold(op);
  return task;
}

void* SubmissionGate::admit_over_bound(Seconds now) {
  ESPALIER_ASSERT(!held_.empty(), "no task is held");
  held_.count_to(now);
  const Op op = held_.take_first();
  banker_.start(op);
  return banker_.task(op);
}

void SubmissionGate::end(Op op) {
  banker_.end(op, [this](Datum datum) {
    if (ledger_.allocated(datum) == 0 || !measured_) banker_.remove(datum);
  });
}

SubmissionGateReport SubmissionGate::report() const {
  SubmissionGateReport report;
  report.booked = booked();
  report.booked_peak = rule().booked_peak();
  report.over_bound = std::max<Bytes>(0, rule().over_bound());
  report.allocated = ledger_.allocated();
  report.allocated_peak = ledger_.allocated_peak();
  report.extra_peak = ledger_.extra_peak();
  report.outside_peak = ledger_.outside_peak();
  report.outside_blocks = ledger_.outside_blocks();
  report.messages_peak = ledger_.messages_peak();
  report.message_peak = ledger_.message_peak();
  report.tasks = tasks_;
  report.held_tasks = held_tasks_;
  report.held_time = held_.waited();
  report.underestimates = underestimates_;
  report.underestimated_bytes = underestimated_bytes_;
  report.unproven = unproven_;
  report.least = banker_.least();
  return report;
}

}  // namespace espalier::policy
