#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "policy/core/block_ledger.h"
#include "policy/core/held_queue.h"
#include "policy/core/submission_banker.h"

namespace espalier::policy {

/// A datum that a task works on, as it is when the task is submitted.
struct DataAccess {
  const void* handle = nullptr;
  Bytes size = 0;               ///< to be allocated for it, in all
  const void* block = nullptr;  ///< where it is allocated already; nullptr: nowhere
  bool stays = false;           ///< in memory until it is freed: it is never evicted
  bool on_disk = false;         ///< it has been evicted
  bool buffers = false;         ///< one for each worker, all of one size
};

/// What the gate has seen so far.
struct SubmissionGateReport {
  Bytes booked = 0;  ///< once data are evicted: for tasks that run, and what stays
  Bytes booked_peak = 0;
  Bytes allocated = 0, allocated_peak = 0;  ///< measured, data of tasks alone
  Bytes extra_peak = 0;                     ///< measured, belonging to no known datum
  Bytes outside_peak = 0;  ///< measured, data that no task of the gate's asked for
  std::int64_t outside_blocks = 0;         ///< of these, in all
  std::int64_t messages_peak = 0;          ///< most of the next at a time
  Bytes message_peak = 0;                  ///< measured, StarPU-MPI's own: not booked
  std::int64_t tasks = 0, held_tasks = 0;  ///< that need memory; that waited
  Seconds held_time = 0;                   ///< sum over the tasks that waited
  std::int64_t underestimates = 0;         ///< data larger than they were said to be
  Bytes underestimated_bytes = 0;          ///< the largest excess
  std::int64_t unproven = 0;  ///< let in without proof that the rest can finish
  Bytes over_bound = 0;       ///< the most that was booked above the bound
  Bytes least = 0;            ///< least bound that the order of submission needs
};

/// Which tasks may start, for programs that declare no tree. Joins
///
///   SubmissionBanker  the order of submission, and what may start by it
///   BlockLedger       what is really allocated, and for which datum
///   HeldQueue         tasks that are ready and may not start
///
/// What tasks are booked for is held against what is really allocated: blocks are
/// attributed to data when the task that fetched them starts, and booked bytes are given
/// back when the blocks are really freed. Behind the banker's horizon nothing has been
/// allocated: once the tasks before it have ended, memory is as in a sequential run, and
/// the program can go on if that run fits in the bound.
///
/// Not thread-safe; calls nothing outside.
///
/// @par Test  SubmissionGate.*, and SubmissionGateJobs.* over jobs of several processes
class SubmissionGate {
 public:
  using Op = Banker::Op;
  static constexpr Bytes kUnlimited = Banker::kUnlimited;

  /// `measured`: allocated() and freed() will be called. Otherwise data count as freed
  /// when they are released and their last task has ended, and blocks are only counted.
  SubmissionGate(Bytes bound, bool measured);

  /// A task is submitted; each handle once. @return kNone: it needs no memory
  /// @throws OverflowError when the sizes of all data sum to more than 2^62
  Op submit(const void* task, std::span<const DataAccess> accesses);
  /// One that is not executed, and so allocates nothing: it waits for all before it that
  /// work on the data, which are needed until then.
  void pass(std::span<const DataAccess> accesses);
  /// A message is submitted that works on the data; end() when it is completed.
  Op submit_message(const void* message, std::span<const DataAccess> accesses);
  /// Whether a task submitted now with this access would allocate memory for it.
  [[nodiscard]] bool allocates(const DataAccess& access) const;
  /// Whether it matters to submit() where some of the data are.
  [[nodiscard]] bool adopts(std::span<const DataAccess> accesses) const;
  /// Whether all data of a size are booked for others, or will be, and stay: so a task of
  /// StarPU's needs no place in the order that works for the sake of one that has one.
  [[nodiscard]] bool provides(std::span<const DataAccess> accesses) const;
  [[nodiscard]] Op find(const void* task) const { return banker_.find(task); }
  /// Of its submission: grows from each to the next.
  [[nodiscard]] std::uint64_t number(Op op) const { return banker_.number(op); }
  /// The program waits for tasks: what it releases afterwards it could not release
  /// before.
  void program_waits() { banker_.program_waits(); }
  /// The datum is freed once the tasks submitted so far have worked on it.
  void release(const void* handle);

  /// The task is ready. @return false: the gate holds it
  [[nodiscard]] bool ready(Op op, Seconds now);
  /// The task starts whatever the gate says.
  void start(Op op) { banker_.start(op); }
  [[nodiscard]] bool started(Op op) const { return rule().started(op); }
  /// Appends held tasks that may start now. Call after release, end and freed. Only the
  /// first ones are tried; where nothing runs and `all`, every one until one may start.
  void admit_held(Seconds now, std::vector<void*>& admitted, bool all = true);

  /// Nothing that has started has not ended, tasks are held, and no message comes before
  /// them, for which another process may have to work first.
  [[nodiscard]] bool stalled() const {
    return rule().running() == 0 && holds() && !awaits_message();
  }
  /// Tasks are held, and a message comes before the first of them.
  [[nodiscard]] bool awaits_message() const {
    return holds() && banker_.behind_message(held_.first());
  }
  /// When stalled: memory that nothing needs any more has not been freed yet.
  [[nodiscard]] bool awaits_frees() const { return rule().booked() > rule().base(); }
  [[nodiscard]] bool holds() const { return !held_.empty(); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// Lets in the first held task that fits now, though nothing proves that the rest can
  /// still finish. @return nullptr: none fits
  [[nodiscard]] void* admit_unproven(Seconds now);
  /// Lets in the first held task, over the bound. Something must be held.
  [[nodiscard]] void* admit_over_bound(Seconds now);
  /// From now on data are evicted. When stalled() only.
  void let_evict() { banker_.let_evict(); }
  [[nodiscard]] bool evicts() const { return rule().evicts(); }
  /// From now on the bound is raised where it does not suffice.
  void let_exceed() { banker_.let_exceed(); }

  /// The task's data are in memory: which blocks were allocated for it, and where its
  /// data begin, handle by handle. kNone: for a task that needs no memory.
  void fetched(Op op, std::span<const void* const> blocks,
               std::span<const DataAccess> places);
  /// The same when one block was allocated and it is clear for which datum. @return
  /// false: it is not, or there are several blocks; nothing is done
  bool fetched_alone(Op op, const void* block, std::size_t blocks);
  /// Whether it is not yet known where all the data of the task are.
  [[nodiscard]] bool unplaced(Op op) const;
  void end(Op op);

  /// A block of memory; `for_task`: allocated while a worker fetched a task's data.
  void allocated(const void* block, Bytes bytes, bool for_task);
  /// A block of a datum, allocated for no task of the gate's: it counts at once. Whose it
  /// is may be found out: by submit(), found() or fetched().
  void allocated_outside(const void* block, Bytes bytes);
  [[nodiscard]] Bytes outside() const { return ledger_.outside(); }
  /// Whether the task lacks memory, and some of its data may be in blocks from outside.
  [[nodiscard]] bool may_be_found(Op op) const {
    return outside() > 0 && rule().missing(op) > 0;
  }
  /// Where the data of a task that is ready are.
  void found(Op op, std::span<const DataAccess> places);
  /// A block of StarPU-MPI's own: a message that came before it was asked for, or that is
  /// packed. Measured, not booked: nothing that is held could make it go away. Smaller
  /// ones than kSentAtOnce are not part of what is allocated, either: they would else be
  /// in buffers of MPI's.
  void allocated_for_message(const void* block, Bytes bytes);
  /// The block is about to be freed: its address may soon be another block's.
  /// `evicted`: for the sake of another datum, and not because it was released.
  [[nodiscard]] std::uint32_t freeing(const void* block, bool evicted = false) {
    return static_cast<std::uint32_t>(ledger_.freeing(block, evicted));
  }
  /// It is no longer allocated; with what freeing() returned.
  void left(std::uint32_t block);
  /// Its bytes may be used for others. @return true: booked bytes were given back
  bool freed(std::uint32_t block);

  [[nodiscard]] Bytes bound() const { return rule().bound(); }
  [[nodiscard]] Bytes booked() const { return rule().booked(); }
  [[nodiscard]] Bytes allocated_now() const { return ledger_.allocated(); }
  /// All that the task works on.
  [[nodiscard]] Bytes footprint(Op op) const { return rule().footprint(op); }
  /// In memory until they are freed, once others are evicted.
  [[nodiscard]] Bytes staying() const { return evicts() ? rule().base() : 0; }
  /// Booked now and what the first held task needs on top; 0 when none is held.
  [[nodiscard]] Bytes needed_now() const {
    return holds() ? booked() + rule().missing(held_.first()) : 0;
  }
  [[nodiscard]] const void* first_held() const {
    return holds() ? banker_.task(held_.first()) : nullptr;
  }
  /// Whether the first held task is the first of all that have not started: memory alone
  /// keeps it from running.
  [[nodiscard]] bool first_is_held() const {
    return holds() && rule().is_first(held_.first());
  }
  [[nodiscard]] SubmissionGateReport report() const;

 private:
  using Datum = Banker::Datum;
  using Block = BlockLedger::Block;
  using Owner = BlockLedger::Owner;

  [[nodiscard]] const Banker& rule() const { return banker_.rule(); }

  // Submission.
  Op submit(const void* task, std::span<const DataAccess> accesses, bool message);
  Datum datum_for(const DataAccess& access, Bytes& sequential);
  Datum add(const DataAccess& access, Bytes size, bool in_memory);
  Datum adopt(const DataAccess& access, Bytes& sequential);
  [[nodiscard]] bool in_memory(Datum datum, const DataAccess& access) const;
  void hold(Op op) { held_.hold(op, banker_.number(op)); }

  // Blocks and their data.
  void book_beside(Owner owner, Bytes bytes);
  void put(Op op, Datum datum, Block block);
  void own(Op op, Datum datum, Block block);
  void take_excess(Op op, Datum datum);
  [[nodiscard]] Datum incomplete_for(Op op, Block block) const;

  const bool measured_;
  SubmissionBanker banker_;
  BlockLedger ledger_;
  HeldQueue held_;
  std::vector<Datum> needed_;  // by the task being submitted
  std::vector<Datum> given_;   // blocks just now, not by their places
  std::int64_t tasks_ = 0, held_tasks_ = 0, unproven_ = 0, underestimates_ = 0;
  Bytes underestimated_bytes_ = 0;
};

}  // namespace espalier::policy
