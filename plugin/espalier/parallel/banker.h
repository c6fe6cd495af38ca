#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "espalier/model/units.h"
#include "espalier/parallel/pool.h"
#include "espalier/parallel/prefix_peak_tree.h"

namespace espalier {

/// The banker's rule for tasks that share data: which of them may start, in any order and
/// any number at once, so that a bound is never exceeded and all of them can still end.
///
/// Tasks are appended in an order that can always be followed, one after the other; data
/// may be added and released as it grows. A datum is in memory from the start of the
/// first task that works on it until it is released and the last one has ended. With
/// `base` the bytes that remain when what has started has ended, to follow the order
/// needs
///
///   max over the tasks i not started, in order, of   base + Σ_{j<i} (alloc_j - free_j)
///                                                   + alloc_i,
///
/// alloc_i: data whose first task not started is i and that are not in memory;
/// free_i:  released data whose last task not started is i.
///
/// The horizon is the first task at which that exceeds the bound; there is none when all
/// that has been appended fits. A task before it may start when what it allocates fits
/// beside all that is booked now, and when the horizon does not come nearer by it: what
/// could be completed still can. A task that allocates nothing always may. So all tasks
/// before the horizon end, whatever the durations are. Behind it nothing has been
/// allocated: once they have ended, memory is as in a sequential run.
///
/// What a task needs for itself alone is a datum that is released at once.
///
/// Where that is not enough there are two ways to go on.
///
/// let_evict(): from then on a datum that need not stay is in memory for sure only while
/// tasks that work on it run: each of them has it in its alloc_i and its free_i, and
/// while several run it is booked once. So the rule above holds with other numbers: every
/// task starts some time if it fits beside what stays at its place in the order
/// (docs/decisions/0053).
///
/// let_exceed(): the bound is raised, whenever a task is refused for the sake of those
/// behind the horizon, to what all that has been appended needs (docs/decisions/0054).
///
/// Indices are used again: a task's once it has ended, a datum's once it was removed.
/// Not thread-safe.
///
/// @par Cost    O(k log n) a task with k data; 24 bytes a datum, 20 an access, 8 a task
///              and its place in the order (PrefixPeakTree)
/// @par Source  the banker's algorithm [Dij65]; docs/theory/memory_model.md
/// @par Test    Banker.*; GraphAdmission.*, SubmissionGate.*
class Banker {
 public:
  enum class Op : std::uint32_t { kNone = 0xffffffff };
  enum class Datum : std::uint32_t { kNone = 0xffffffff };
  /// A bound with which nothing is ever refused, and no order kept.
  static constexpr Bytes kUnlimited = Bytes{1} << 62;

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
  /// Its memory has been taken, though it is not released; and it has got some again.
  void lose(Datum datum);
  void regain(Datum datum);
  [[nodiscard]] Bytes size(Datum datum) const { return at(datum).size; }
  [[nodiscard]] bool booked(Datum datum) const {
    return at(datum).state == State::kBooked;
  }
  [[nodiscard]] bool lost(Datum datum) const {
    return at(datum).state == State::kEvicted;
  }
  [[nodiscard]] bool released(Datum datum) const { return at(datum).released; }
  /// Tasks appended have not ended; have not started.
  [[nodiscard]] bool in_use(Datum datum) const { return at(datum).unended > 0; }
  [[nodiscard]] bool awaited(Datum datum) const { return at(datum).newest != kNone; }
  /// In memory for sure only while a task that works on it runs.
  [[nodiscard]] bool loose(Datum datum) const { return loose(at(datum)); }

  // Tasks.
  /// At the end of the order; each datum once.
  [[nodiscard]] Op append(std::span<const Datum> data);
  /// By the rule. @return false: not now
  [[nodiscard]] bool try_start(Op op);
  /// Whatever the rule says.
  void start(Op op);
  [[nodiscard]] bool started(Op op) const { return at(op).started; }
  /// `done(datum)` for each that is released and that this was the last task of: it is to
  /// be removed, now or later.
  template <class Done>
  void end(Op op, Done&& done);
  template <class Visit>
  void for_each_datum(Op op, Visit&& visit) const;
  /// All that the task works on; of that, what is not booked.
  [[nodiscard]] Bytes footprint(Op op) const;
  [[nodiscard]] Bytes missing(Op op) const;
  /// Whether what is missing fits beside all that is booked.
  [[nodiscard]] bool fits(Op op) const { return booked_ + missing(op) <= limit_; }
  /// Whether it is the first of those that have not started.
  [[nodiscard]] bool is_first(Op op) const { return order_.first() == at(op).place; }

  /// Bytes of no datum, until they are taken back by as many negative ones.
  void book_beside(Bytes bytes);

  /// When nothing runs.
  void let_evict();
  [[nodiscard]] bool evicts() const { return evicting_; }
  void let_exceed() { exceeding_ = true; }

  [[nodiscard]] Bytes bound() const { return bound_; }
  /// For tasks that run, and what stays when they have ended.
  [[nodiscard]] Bytes booked() const { return booked_; }
  [[nodiscard]] Bytes booked_peak() const { return booked_peak_; }
  /// The most that was booked above the bound; negative: never all of it.
  [[nodiscard]] Bytes over_bound() const { return booked_peak_ - bound_; }
  /// Booked that remain when what has started has ended.
  [[nodiscard]] Bytes base() const { return base_; }
  /// Tasks that have started and not ended.
  [[nodiscard]] std::int64_t running() const { return running_; }

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = 0xffffffff;
  enum class State : std::uint8_t {
    kAbsent,   // not allocated, nothing booked
    kBooked,   // booked; allocated or about to be
    kEvicted,  // was booked, its memory has been taken for others
  };
  // There can be millions of these: no byte is wasted.
  struct DatumEntry {
    Bytes size;
    Index oldest, newest;   // accesses of tasks not started, in order
    std::uint32_t unended;  // tasks
    State state;
    bool released : 1, stays : 1;
    std::uint16_t running = 0;  // tasks that have started; once data are evicted
  };
  struct Access {
    Index op;
    Index datum : 30;
    Index booked : 1, refetched : 1;  // by the start of the task
    Index older, newer;               // of the datum, among tasks not started
    Index next;                       // of the task
  };
  struct Task {
    Index first_access : 31, started : 1;
    PrefixPeakTree::Place place;
  };
  static constexpr Index kLastAccess = (Index{1} << 31) - 1;  // of a task
  static constexpr Index kDatumBits = (Index{1} << 30) - 1;
  static_assert(sizeof(DatumEntry) == 24 && sizeof(Access) == 20 && sizeof(Task) == 8);

  [[nodiscard]] const DatumEntry& at(Datum d) const {
    return data_[static_cast<Index>(d)];
  }
  [[nodiscard]] DatumEntry& at(Datum d) { return data_[static_cast<Index>(d)]; }
  [[nodiscard]] const Task& at(Op op) const { return tasks_[static_cast<Index>(op)]; }
  [[nodiscard]] bool loose(const DatumEntry& d) const { return evicting_ && !d.stays; }
  /// Released, and no task that has not started works on it.
  [[nodiscard]] static bool leaving(const DatumEntry& d) {
    return d.released && d.newest == kNone;
  }

  Bytes link(Index op, Index datum);
  void apply(Index op);
  void revert(Index op);
  void book(const DatumEntry& datum, Bytes bytes);
  void note_peak();
  void loosen(DatumEntry& datum);
  void change(Index access, Bytes more_alloc, Bytes more_free) {
    change(tasks_[accesses_[access].op], more_alloc, more_free);
  }
  void change(const Task& task, Bytes more_alloc, Bytes more_free) {
    if (!unlimited_) order_.change(task.place, more_alloc, more_free);
  }
  void unload(DatumEntry& datum);

  const Bytes bound_;
  const bool unlimited_;
  bool evicting_ = false, exceeding_ = false;
  Bytes limit_;  // the bound, or more once it is exceeded
  Bytes base_ = 0, booked_ = 0, booked_peak_ = 0;
  std::int64_t running_ = 0;
  PrefixPeakTree order_;  // tasks that have not started
  Pool<Task> tasks_;
  Pool<DatumEntry> data_;
  Pool<Access> accesses_;
};

template <class Visit>
void Banker::for_each_datum(Op op, Visit&& visit) const {
  for (Index a = at(op).first_access; a != kLastAccess; a = accesses_[a].next)
    visit(Datum{accesses_[a].datum});
}

template <class Done>
void Banker::end(Op op, Done&& done) {
  start(op);
  const auto i = static_cast<Index>(op);
  for (Index a = tasks_[i].first_access; a != kLastAccess;) {
    const Access access = accesses_[a];
    accesses_.give_back(a);
    a = access.next;
    DatumEntry& d = data_[access.datum];
    if (loose(d) && --d.running == 0) unload(d);
    if (--d.unended == 0 && d.released) done(Datum{access.datum});
  }
  --running_;
  tasks_.give_back(i);
}

}  // namespace espalier
