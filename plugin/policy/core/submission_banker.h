#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <utility>

#include "espalier/parallel/banker.h"
#include "policy/core/pointer_map.h"
#include "policy/core/sequential_run.h"

namespace espalier::policy {

/// The order of submission: the tasks, data and messages of a program that declares no
/// tree by their names (addresses, opaque here), under the banker's rule (banker.h).
///
/// Tasks depend on each other only through earlier ones, so that the order of submission
/// can always be followed. The way of a datum, which a handle names until it is released:
///
///                    its first            its blocks are         written to the disk,
///        add()       task starts          known (BlockLedger)    or fetched again
///     ──────────► submitted ──────► booked ──────────► allocated ◄──────► evicted
///        │                            ▲                    │                 │
///        └── in memory already ───────┘                    │                 │
///                                                          ▼                 ▼
///     remove() ◄── freed ◄─────────────────────────────── released: release() by the
///                    its blocks are gone and its          program, forget() when its
///                    last task has ended                  blocks go without notice
///
/// release() may come in any of the states, and changes what the banker expects at once:
/// the last task submitted for the datum gives its bytes back. Booked bytes stay booked
/// until remove(). From release() or forget() on the handle may name another datum.
///
/// Messages between processes stand in the order like tasks: a process sends or receives
/// a datum. They end when another process has done its part, so nothing may count on
/// their end: until then they count as not started, and what they work on stays. With
/// that, and when all processes submit their parts of one order, the whole job can be
/// completed in it (docs/decisions/0042).
///
/// Not thread-safe.
///
/// @par Cost  O(k log n) a task with k data; at most 200 bytes for each task that has not
///            ended, with its datum
/// @par Test  SubmissionBanker.*, SubmissionGate.*
class SubmissionBanker {
 public:
  using Op = Banker::Op;
  using Datum = Banker::Datum;

  explicit SubmissionBanker(Bytes bound) : rule_(bound) {}

  /// What may start, and what is booked.
  [[nodiscard]] const Banker& rule() const { return rule_; }

  // Data.
  /// What the handle names: not released. kNone: nothing.
  [[nodiscard]] Datum named(const void* handle) const {
    return Datum{handles_.find(handle)};
  }
  /// What it names or, until that is freed, last named.
  [[nodiscard]] Datum known(const void* handle) const {
    const Datum datum = named(handle);
    return datum != Datum::kNone ? datum : Datum{released_.find(handle)};
  }
  /// It named a datum that was released and has not been freed.
  [[nodiscard]] bool was_released(const void* handle) const {
    return released_.find(handle) != PointerMap::kNone;
  }
  [[nodiscard]] const void* handle(Datum datum) const { return of(datum).handle; }
  /// Bytes of data that may still be added: they sum to at most 2^62.
  [[nodiscard]] Bytes room() const { return Banker::kUnlimited - promised_; }
  [[nodiscard]] Datum add(const void* handle, Bytes size, bool in_memory, bool stays);
  /// It consists of a buffer for each worker, all of one size.
  void set_buffers(Datum datum) { names_[static_cast<std::size_t>(datum)].buffers = 1; }
  [[nodiscard]] bool buffers(Datum datum) const { return of(datum).buffers != 0; }
  /// The datum turns out to be larger, which the task learnt that works on it.
  void grow(Datum datum, Bytes more, Op op);
  void keep(Datum datum) { rule_.keep(datum); }
  void lose(Datum datum) { rule_.lose(datum); }
  void regain(Datum datum) { rule_.regain(datum); }
  void find_allocated(Datum datum) { rule_.find_allocated(datum); }
  void release(Datum datum);
  /// `late`: the program said so only after others had ended, if at all.
  void forget(Datum datum, bool late);
  void remove(Datum datum);
  /// The program waits: what it releases afterwards it could not release before.
  void program_waits() { waited_at_ = sequential_.next(); }

  // Tasks.
  [[nodiscard]] Op find(const void* task) const { return Op{ops_.find(task)}; }
  [[nodiscard]] void* task(Op op) const { return of(op).task; }
  /// In the order of submission.
  [[nodiscard]] std::uint64_t number(Op op) const { return of(op).number; }
  /// `alloc`: what it takes in a sequential run.
  Op submit(void* task, std::span<const Datum> data, Bytes alloc, bool message);
  /// Something that is not executed comes after all that works on the data so far: these
  /// are needed until then.
  void pass(std::span<const Datum> data);
  [[nodiscard]] bool try_start(Op op) { return rule_.try_start(op); }
  void start(Op op) { rule_.start(op); }
  /// `done`: as Banker::end().
  template <class Done>
  void end(Op op, Done&& done);
  /// Whether a message that has not ended was submitted before the task.
  [[nodiscard]] bool behind_message(Op op) const {
    return !messages_.empty() && *messages_.begin() < of(op).number;
  }

  /// As Banker's.
  void book_beside(Bytes bytes) { rule_.book_beside(bytes); }
  /// The same, of what is there whatever the order of submission: that needs it, too.
  void book_outside(Bytes bytes) {
    rule_.book_beside(bytes);
    sequential_.holds(bytes);
  }
  void let_evict() { rule_.let_evict(); }
  void let_exceed() { rule_.let_exceed(); }

  /// The least bound that the order of submission needs.
  [[nodiscard]] Bytes least() const { return sequential_.least(); }

 private:
  // There can be millions of these: no byte is wasted.
  struct Name {  // of a datum
    const void* handle;
    std::uint64_t last : 63,  // number of the last task that works on it
        buffers : 1;
  };
  struct Submission {
    void* task;
    std::uint64_t number : 63, message : 1;
  };
  static constexpr std::uint64_t kNumber = (std::uint64_t{1} << 63) - 1;
  static_assert(sizeof(Name) == 16 && sizeof(Submission) == 16);

  template <class T, class Id>
  static T& grown(std::deque<T>& items, Id id) {
    const auto i = static_cast<std::size_t>(id);
    if (i >= items.size()) items.resize(i + 1);
    return items[i];
  }
  [[nodiscard]] const Name& of(Datum d) const {
    return names_[static_cast<std::size_t>(d)];
  }
  [[nodiscard]] const Submission& of(Op op) const {
    return submissions_[static_cast<std::size_t>(op)];
  }

  Banker rule_;
  std::deque<Name> names_;              // by datum
  std::deque<Submission> submissions_;  // by op
  PointerMap ops_, handles_;
  PointerMap released_;               // handles to released data, until these are freed
  std::set<std::uint64_t> messages_;  // numbers of those that have not ended
  SequentialRun sequential_;
  std::uint64_t waited_at_ = 0;  // number of the next task then
  Bytes promised_ = 0;           // sizes of all data known, against overflow
};

template <class Done>
void SubmissionBanker::end(Op op, Done&& done) {
  const Submission ended = of(op);
  rule_.end(op, std::forward<Done>(done));
  if (ended.message != 0) messages_.erase(ended.number);
  sequential_.end(ended.number);
  ops_.erase(ended.task);
}

}  // namespace espalier::policy
