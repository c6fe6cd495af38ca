#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "espalier/model/units.h"
#include "espalier/parallel/prefix_peak_tree.h"

namespace espalier {

/// The banker's rule for tasks that share data: which of them may start, in any order and
/// any number at once, so that a bound is never exceeded and all of them can still end.
///
/// Tasks stand in an order that can always be followed, one after the other. A datum is
/// in memory from the start of the first task that works on it until it is released and
/// the last one has ended. With `base` the bytes that remain when what has started has
/// ended, to follow the order needs
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
/// Which task works on which data is not kept here but by the caller, in the form that
/// suits it: `Accesses`, a program's that grows (ProgramAccesses) or a graph's that is
/// known beforehand (GraphAccesses). With `op` a task and `access` whatever it gives for
/// one of its data:
///
///   place(op)            where the task stands in order()
///   missing(op)          bytes of its data that are not booked
///   for_each(op, visit)  visit(access) for each of its data, all in the same order again
///   size(access)         bytes of the datum
///   loose(access)        whether tasks that run book it, not those that are to come
///   take(access)         it is booked from now on, if it was not. @return Took
///   put_back(access)     undoes take(). @return the same
///   first(op, access)    where take() returned kFirst: the place of the first task that
///                        works on it
///   leave(op, access)    the task does not stand in the order any more. @return Heir
///   join(op, access)     undoes leave(), nothing having come between. @return the same
///   set_started(op, it)  it: whether it has started
///
/// Not thread-safe.
///
/// @par Cost    O(k log n) a task with k data, and what the accesses take
/// @par Source  the banker's algorithm [Dij65]; docs/theory/memory_model.md
/// @par Test    Banker.*; GraphAdmission.*
class BankerRule {
 public:
  using Place = PrefixPeakTree::Place;
  /// A bound with which nothing is ever refused, and no order kept.
  static constexpr Bytes kUnlimited = Bytes{1} << 62;

  /// What a start does to a datum.
  enum class Took : std::uint8_t {
    kNothing,  ///< it was booked already
    kFirst,    ///< it had not been allocated
    kAgain,    ///< it had been, and was evicted
  };
  /// Who frees a released datum when a task has left that worked on it.
  struct Heir {
    enum class Kind : std::uint8_t {
      kSame,     ///< as before: a later task, or nobody since it is not released
      kAnother,  ///< the task at `place`
      kLeaver,   ///< the one that left: nobody is behind it
    };
    Kind kind = Kind::kSame;
    Place place = 0;
  };

  BankerRule(Bytes bound, PrefixPeakTree::Moved moved)
      : bound_(bound),
        unlimited_(bound >= kUnlimited),
        limit_(bound),
        order_(std::move(moved)) {}

  /// By the rule. @return false: not now
  template <class Accesses>
  [[nodiscard]] bool try_start(Accesses& accesses, typename Accesses::Op op);
  /// Whatever the rule says, a task that has not started.
  template <class Accesses>
  void start(Accesses& accesses, typename Accesses::Op op);
  /// A task that has started has ended.
  void end() { --running_; }

  /// The tasks that have not started; empty and without use when unlimited().
  [[nodiscard]] PrefixPeakTree& order() { return order_; }
  [[nodiscard]] const PrefixPeakTree& order() const { return order_; }
  /// As PrefixPeakTree::change(), if there is an order.
  void change(Place place, Bytes more_alloc, Bytes more_free) {
    if (!unlimited_) order_.change(place, more_alloc, more_free);
  }
  /// Bytes that are in memory, or no longer where negative. `remain`: also when what has
  /// started has ended.
  void book(Bytes bytes, bool remain) {
    booked_ += bytes;
    if (remain) base_ += bytes;
    booked_peak_ = std::max(booked_peak_, booked_);
  }
  /// Booked bytes go when what has started has ended.
  void let_go(Bytes bytes) { base_ -= bytes; }
  /// From now on the bound is raised, whenever a task is refused for the sake of those
  /// behind the horizon, to what all that has been appended needs (docs/decisions/0054).
  void let_exceed() { exceeding_ = true; }

  [[nodiscard]] Bytes bound() const { return bound_; }
  [[nodiscard]] bool unlimited() const { return unlimited_; }
  /// Whether so many bytes fit beside all that is booked.
  [[nodiscard]] bool fits(Bytes more) const { return booked_ + more <= limit_; }
  /// For tasks that run, and what stays when they have ended.
  [[nodiscard]] Bytes booked() const { return booked_; }
  [[nodiscard]] Bytes booked_peak() const { return booked_peak_; }
  /// Booked that remain when what has started has ended.
  [[nodiscard]] Bytes base() const { return base_; }
  /// Tasks that have started and not ended.
  [[nodiscard]] std::int64_t running() const { return running_; }

 private:
  template <class Accesses>
  void revert(Accesses& accesses, typename Accesses::Op op);
  void hand_over(const Heir& heir, Bytes bytes) {
    if (heir.kind == Heir::Kind::kAnother) change(heir.place, 0, bytes);
    if (heir.kind == Heir::Kind::kLeaver) base_ -= bytes;
  }
  [[nodiscard]] std::optional<Place> horizon() const {
    return order_.first_above(limit_ - base_);
  }

  Bytes bound_;
  bool unlimited_, exceeding_ = false;
  Bytes limit_;  // the bound, or more once it is exceeded
  Bytes base_ = 0, booked_ = 0, booked_peak_ = 0;
  std::int64_t running_ = 0;
  PrefixPeakTree order_;  // tasks that have not started
};

template <class Accesses>
bool BankerRule::try_start(Accesses& accesses, typename Accesses::Op op) {
  const Bytes more = accesses.missing(op);
  if (more == 0 || unlimited_) {
    start(accesses, op);
    return true;
  }
  // To what remains to be done needs: then there is no horizon.
  if (exceeding_) limit_ = std::max(limit_, base_ + order_.peak());
  if (!fits(more)) return false;
  const std::optional<Place> before = horizon();
  if (before && *before <= accesses.place(op)) return false;
  const Bytes peak = booked_peak_;
  start(accesses, op);
  const std::optional<Place> after = horizon();
  if (!after || (before && *after >= *before)) return true;
  revert(accesses, op);
  booked_peak_ = peak;
  return false;
}

// Its data are booked, and it no longer stands in the order of those that have not
// started. It leaves that order first, and keeps there what it would allocate and free:
// only others' parts change.
template <class Accesses>
void BankerRule::start(Accesses& accesses, typename Accesses::Op op) {
  const Place own = accesses.place(op);
  if (!unlimited_) order_.remove(own);
  accesses.for_each(op, [&](auto access) {
    const Bytes size = accesses.size(access);
    const bool loose = accesses.loose(access);
    const Took took = accesses.take(access);
    if (took != Took::kNothing) book(size, !loose);
    if (took == Took::kFirst && !loose && accesses.first(op, access) != own)
      change(accesses.first(op, access), -size, 0);
    const Heir heir = accesses.leave(op, access);
    if (!loose) hand_over(heir, size);
  });
  accesses.set_started(op, true);
  ++running_;
}

// Undoes start(), nothing having come between: the same steps backwards.
template <class Accesses>
void BankerRule::revert(Accesses& accesses, typename Accesses::Op op) {
  const Place own = accesses.place(op);
  --running_;
  accesses.set_started(op, false);
  accesses.for_each(op, [&](auto access) {
    const Bytes size = accesses.size(access);
    const bool loose = accesses.loose(access);
    const Heir heir = accesses.join(op, access);
    if (!loose) hand_over(heir, -size);
    const Took took = accesses.put_back(access);
    if (took != Took::kNothing) book(-size, !loose);
    if (took == Took::kFirst && !loose && accesses.first(op, access) != own)
      change(accesses.first(op, access), size, 0);
  });
  order_.restore(own);
}

}  // namespace espalier
