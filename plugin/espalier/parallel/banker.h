#pragma once

#include <cstdint>
#include <span>
#include <utility>

#include "espalier/model/units.h"
#include "espalier/parallel/banker_rule.h"
#include "espalier/parallel/program_accesses.h"

namespace espalier {

/// The banker's rule (banker_rule.h) for a program: tasks are appended, and data may be
/// added and released as it goes on.
///
/// Where the rule is not enough there are two ways to go on.
///
/// let_evict(): from then on a datum that need not stay is in memory for sure only while
/// tasks that work on it run: each of them has it in its alloc_i and its free_i, and
/// while several run it is booked once. So the rule holds with other numbers: every task
/// starts some time if it fits beside what stays at its place in the order
/// (docs/decisions/0053).
///
/// let_exceed(): the bound is raised (BankerRule::let_exceed()).
///
/// Indices are used again: a task's once it has ended, a datum's once it was removed.
/// Not thread-safe.
///
/// @par Cost    O(k log n) a task with k data; the bytes of ProgramAccesses, and a task's
///              place in the order (PrefixPeakTree)
/// @par Test    Banker.*, SubmissionGate.*
class Banker {
 public:
  using Op = ProgramAccesses::Op;
  using Datum = ProgramAccesses::Datum;
  static constexpr Bytes kUnlimited = BankerRule::kUnlimited;

  explicit Banker(Bytes bound);

  // Data.
  /// `in_memory`: it is there already. `stays`: it is never evicted.
  [[nodiscard]] Datum add(Bytes size, bool in_memory, bool stays);
  /// It turns out to be larger.
  void grow(Datum datum, Bytes more);
  /// No task that is appended from now on works on it.
  void release(Datum datum);
  /// It has been freed, with nobody to work on it any more.
  void remove(Datum datum);
  /// From now on it is never evicted.
  void keep(Datum datum);
  /// Its memory has been taken, though it is not released; and it has got some again.
  void lose(Datum datum);
  void regain(Datum datum);
  /// It is in memory already, though none of its tasks has started.
  void find_allocated(Datum datum);
  [[nodiscard]] Bytes size(Datum datum) const { return accesses_.at(datum).size; }
  [[nodiscard]] bool booked(Datum datum) const {
    return accesses_.at(datum).state == State::kBooked;
  }
  [[nodiscard]] bool lost(Datum datum) const {
    return accesses_.at(datum).state == State::kEvicted;
  }
  [[nodiscard]] bool released(Datum datum) const { return accesses_.at(datum).released; }
  /// Tasks appended have not ended; have not started.
  [[nodiscard]] bool in_use(Datum datum) const { return accesses_.at(datum).unended > 0; }
  [[nodiscard]] bool awaited(Datum datum) const {
    return accesses_.at(datum).newest != ProgramAccesses::kNone;
  }
  /// In memory for sure only while a task that works on it runs.
  [[nodiscard]] bool loose(Datum datum) const {
    return accesses_.loose(accesses_.at(datum));
  }

  // Tasks.
  /// At the end of the order; each datum once.
  [[nodiscard]] Op append(std::span<const Datum> data);
  /// By the rule. @return false: not now
  [[nodiscard]] bool try_start(Op op);
  /// Whatever the rule says.
  void start(Op op);
  [[nodiscard]] bool started(Op op) const { return accesses_.started(op); }
  /// `done(datum)` for each that is released and that this was the last task of: it is to
  /// be removed, now or later.
  template <class Done>
  void end(Op op, Done&& done);
  template <class Visit>
  void for_each_datum(Op op, Visit&& visit) const {
    accesses_.for_each_datum(op, std::forward<Visit>(visit));
  }
  /// All that the task works on; of that, what is not booked.
  [[nodiscard]] Bytes footprint(Op op) const;
  [[nodiscard]] Bytes missing(Op op) const { return accesses_.missing(op); }
  /// Whether what is missing fits beside all that is booked.
  [[nodiscard]] bool fits(Op op) const { return rule_.fits(missing(op)); }
  /// Whether it is the first of those that have not started.
  [[nodiscard]] bool is_first(Op op) const {
    return rule_.order().first() == accesses_.place(op);
  }

  /// Bytes of no datum, until they are taken back by as many negative ones.
  void book_beside(Bytes bytes) { rule_.book(bytes, true); }

  /// When nothing runs.
  void let_evict();
  [[nodiscard]] bool evicts() const { return accesses_.evicts(); }
  void let_exceed() { rule_.let_exceed(); }

  [[nodiscard]] Bytes bound() const { return rule_.bound(); }
  /// For tasks that run, and what stays when they have ended.
  [[nodiscard]] Bytes booked() const { return rule_.booked(); }
  [[nodiscard]] Bytes booked_peak() const { return rule_.booked_peak(); }
  /// The most that was booked above the bound; negative: never all of it.
  [[nodiscard]] Bytes over_bound() const { return booked_peak() - bound(); }
  /// Booked that remain when what has started has ended.
  [[nodiscard]] Bytes base() const { return rule_.base(); }
  /// Tasks that have started and not ended.
  [[nodiscard]] std::int64_t running() const { return rule_.running(); }

 private:
  using State = ProgramAccesses::State;
  using DatumEntry = ProgramAccesses::DatumEntry;

  void book(const DatumEntry& datum, Bytes bytes) {
    rule_.book(bytes, !datum.leaving() && !accesses_.loose(datum));
  }
  void loosen(DatumEntry& datum);
  void tighten(DatumEntry& datum);
  void unload(DatumEntry& datum) {
    rule_.book(-datum.size, false);
    datum.state = State::kEvicted;
  }

  ProgramAccesses accesses_;
  BankerRule rule_;
};

template <class Done>
void Banker::end(Op op, Done&& done) {
  start(op);
  accesses_.end(op, [&](Datum datum) {
    DatumEntry& d = accesses_.at(datum);
    if (accesses_.loose(d) && --d.running == 0) unload(d);
    if (--d.unended == 0 && d.released) done(datum);
  });
  rule_.end();
}

}  // namespace espalier
