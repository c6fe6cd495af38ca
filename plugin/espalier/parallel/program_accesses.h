#pragma once

#include <cstdint>
#include <deque>
#include <utility>

#include "espalier/model/units.h"
#include "espalier/parallel/banker_rule.h"
#include "espalier/parallel/pool.h"

namespace espalier {

/// Which task works on which data, for BankerRule, while a program goes on to submit
/// tasks and to add, release and free data. A datum has a list of its tasks that have not
/// started, in order.
///
/// Indices are used again: a task's once it has ended, a datum's once it was removed.
///
/// @par Cost  O(1) an access; 24 bytes a datum, 20 an access, 8 a task
/// @par Test  Banker.*
class ProgramAccesses {
 public:
  enum class Op : std::uint32_t { kNone = 0xffffffff };
  enum class Datum : std::uint32_t { kNone = 0xffffffff };
  using Place = BankerRule::Place;
  using Took = BankerRule::Took;
  using Heir = BankerRule::Heir;
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

    /// Released, and no task that has not started works on it.
    [[nodiscard]] bool leaving() const { return released && newest == kNone; }
  };

  // Data.
  [[nodiscard]] Datum add(const DatumEntry& datum);
  void remove(Datum datum) { data_.give_back(static_cast<Index>(datum)); }
  [[nodiscard]] DatumEntry& at(Datum d) { return data_[static_cast<Index>(d)]; }
  [[nodiscard]] const DatumEntry& at(Datum d) const {
    return data_[static_cast<Index>(d)];
  }
  /// All that were ever added, those removed as they were then.
  [[nodiscard]] std::deque<DatumEntry>& data() { return data_.items(); }
  /// From now on only data that stay are in memory while no task runs that works on them.
  void let_evict() { evicting_ = true; }
  [[nodiscard]] bool evicts() const { return evicting_; }
  [[nodiscard]] bool loose(const DatumEntry& d) const { return evicting_ && !d.stays; }

  // Tasks.
  [[nodiscard]] Op append() { return Op{tasks_.take({kLastAccess, 0, 0})}; }
  /// The task, appended last, works on the datum.
  void link(Op op, Datum datum);
  void set_place(Op op, Place place) { at(op).place = place; }
  [[nodiscard]] bool started(Op op) const { return at(op).started != 0; }
  /// The task has ended: `done(datum)` for each of which that was the last task.
  template <class Done>
  void end(Op op, Done&& done);
  template <class Visit>
  void for_each_datum(Op op, Visit&& visit) const;
  /// The place of the last task not started; there is one.
  [[nodiscard]] Place last(const DatumEntry& d) const { return place_of(d.newest); }
  [[nodiscard]] Place first(const DatumEntry& d) const { return place_of(d.oldest); }
  /// `visit(place)` for each task that has not started.
  template <class Visit>
  void for_each_place(const DatumEntry& d, Visit&& visit) const;

  // What BankerRule asks for.
  struct Access;
  struct Visited {
    Index index;
    Access* access;
    DatumEntry* datum;
  };
  [[nodiscard]] Place place(Op op) const { return at(op).place; }
  [[nodiscard]] Bytes missing(Op op) const;
  template <class Visit>
  void for_each(Op op, Visit&& visit);
  [[nodiscard]] static Bytes size(const Visited& v) { return v.datum->size; }
  [[nodiscard]] bool loose(const Visited& v) const { return loose(*v.datum); }
  Took take(const Visited& v);
  Took put_back(const Visited& v);
  [[nodiscard]] Place first(Op, const Visited& v) const { return first(*v.datum); }
  Heir leave(Op, const Visited& v);
  Heir join(Op, const Visited& v);
  void set_started(Op op, bool it) { at(op).started = it ? 1 : 0; }

  struct Access {
    Index op;
    Index datum : 30;
    Index booked : 1, refetched : 1;  // by the start of the task
    Index older, newer;               // of the datum, among tasks not started
    Index next;                       // of the task
  };

 private:
  struct Task {
    Index first_access : 31, started : 1;
    Place place;
  };
  static constexpr Index kLastAccess = (Index{1} << 31) - 1;  // of a task
  static constexpr Index kDatumBits = (Index{1} << 30) - 1;
  static_assert(sizeof(DatumEntry) == 24 && sizeof(Access) == 20 && sizeof(Task) == 8);

  [[nodiscard]] const Task& at(Op op) const { return tasks_[static_cast<Index>(op)]; }
  [[nodiscard]] Task& at(Op op) { return tasks_[static_cast<Index>(op)]; }
  [[nodiscard]] Place place_of(Index access) const {
    return tasks_[accesses_[access].op].place;
  }
  [[nodiscard]] Heir heir(const Visited& v) const;

  bool evicting_ = false;
  Pool<Task> tasks_;
  Pool<DatumEntry> data_;
  Pool<Access> accesses_;
};

template <class Visit>
void ProgramAccesses::for_each_datum(Op op, Visit&& visit) const {
  for (Index a = at(op).first_access; a != kLastAccess; a = accesses_[a].next)
    visit(Datum{accesses_[a].datum});
}

template <class Visit>
void ProgramAccesses::for_each_place(const DatumEntry& d, Visit&& visit) const {
  for (Index a = d.oldest; a != kNone; a = accesses_[a].newer) visit(place_of(a));
}

template <class Visit>
void ProgramAccesses::for_each(Op op, Visit&& visit) {
  for (Index a = at(op).first_access; a != kLastAccess;) {
    Access& access = accesses_[a];
    visit(Visited{a, &access, &data_[access.datum]});
    a = access.next;
  }
}

template <class Done>
void ProgramAccesses::end(Op op, Done&& done) {
  for (Index a = at(op).first_access; a != kLastAccess;) {
    const Access access = accesses_[a];
    accesses_.give_back(a);
    a = access.next;
    done(Datum{access.datum});
  }
  tasks_.give_back(static_cast<Index>(op));
}

inline Bytes ProgramAccesses::missing(Op op) const {
  Bytes bytes = 0;
  for_each_datum(op, [&](Datum datum) {
    const DatumEntry& d = at(datum);
    if (d.state != State::kBooked) bytes += d.size;
  });
  return bytes;
}

inline ProgramAccesses::Took ProgramAccesses::take(const Visited& v) {
  DatumEntry& d = *v.datum;
  v.access->booked = d.state == State::kAbsent ? 1 : 0;
  v.access->refetched = d.state == State::kEvicted ? 1 : 0;
  if (loose(d)) ++d.running;
  const Took took = d.state == State::kAbsent    ? Took::kFirst
                    : d.state == State::kEvicted ? Took::kAgain
                                                 : Took::kNothing;
  d.state = State::kBooked;
  return took;
}

inline ProgramAccesses::Took ProgramAccesses::put_back(const Visited& v) {
  DatumEntry& d = *v.datum;
  if (loose(d)) --d.running;
  if (v.access->booked != 0) {
    d.state = State::kAbsent;
    return Took::kFirst;
  }
  if (v.access->refetched == 0) return Took::kNothing;
  d.state = State::kEvicted;
  return Took::kAgain;
}

// Of an access that is the last, with the one before it the last but one.
inline ProgramAccesses::Heir ProgramAccesses::heir(const Visited& v) const {
  if (!v.datum->released || v.access->newer != kNone) return {};
  if (v.access->older == kNone) return {Heir::Kind::kLeaver};
  return {Heir::Kind::kAnother, place_of(v.access->older)};
}

// An access that left its datum's list still knows where it was.
inline ProgramAccesses::Heir ProgramAccesses::leave(Op, const Visited& v) {
  const Access& a = *v.access;
  (a.older != kNone ? accesses_[a.older].newer : v.datum->oldest) = a.newer;
  (a.newer != kNone ? accesses_[a.newer].older : v.datum->newest) = a.older;
  return heir(v);
}

inline ProgramAccesses::Heir ProgramAccesses::join(Op, const Visited& v) {
  const Access& a = *v.access;
  (a.older != kNone ? accesses_[a.older].newer : v.datum->oldest) = v.index;
  (a.newer != kNone ? accesses_[a.newer].older : v.datum->newest) = v.index;
  return heir(v);
}

}  // namespace espalier
