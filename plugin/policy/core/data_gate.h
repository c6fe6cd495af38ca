#pragma once

#include <cstdint>
#include <deque>
#include <set>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/parallel/witness_tree.h"
#include "policy/core/pointer_map.h"

namespace espalier::policy {

/// MPI libraries send smaller messages without waiting for the receiver, and programs may
/// rely on it.
inline constexpr Bytes kSentAtOnce = 4096;

/// A datum that a task works on, as it is when the task is submitted.
struct DataAccess {
  const void* handle = nullptr;
  Bytes size = 0;               ///< to be allocated for it, in all
  const void* block = nullptr;  ///< where it is allocated already; nullptr: nowhere
  bool stays = false;           ///< in memory until it is freed: it is never evicted
  bool on_disk = false;         ///< it has been evicted
};

/// What the gate has seen so far.
struct DataGateReport {
  Bytes booked = 0;  ///< once data are evicted: for tasks that run, and what stays
  Bytes booked_peak = 0;
  Bytes allocated = 0, allocated_peak = 0;  ///< measured, data of tasks alone
  Bytes extra_peak = 0;                     ///< measured, belonging to no known datum
  std::int64_t messages_peak = 0;           ///< most of the next at a time
  Bytes message_peak = 0;                   ///< measured, StarPU-MPI's own: not booked
  std::int64_t tasks = 0, held_tasks = 0;   ///< that need memory; that waited
  Seconds held_time = 0;                    ///< sum over the tasks that waited
  std::int64_t underestimates = 0;          ///< data larger than they were said to be
  Bytes underestimated_bytes = 0;           ///< the largest excess
  std::int64_t unproven = 0;  ///< let in without proof that the rest can finish
  Bytes over_bound = 0;       ///< the most that was booked above the bound
  Bytes least = 0;            ///< least bound that the order of submission needs
};

/// Which tasks may start, for programs that declare no tree: the banker's test over the
/// order of submission.
///
/// A datum is in memory from the start of the first task that works on it until it is
/// released (unregistered, invalidated) and its last task has ended. Tasks depend on each
/// other only through earlier ones, so the order of submission can always be followed,
/// and with `base` the bytes that remain when what runs has ended, following it needs
///
///   max over the tasks i not started, in order, of   base + Σ_{j<i} (alloc_j - free_j)
///                                                   + alloc_i,
///
/// alloc_i: data whose first task not started is i and that are not in memory;
/// free_i:  released data whose last task not started is i.
///
/// The horizon is the first task at which that exceeds the bound. A task before it may
/// start when what it allocates fits beside all that is booked now, and when the horizon
/// does not come nearer by it: what could be completed still can. A task that allocates
/// nothing always may. So all tasks before the horizon finish, whatever the durations
/// are. Behind it nothing has been allocated: once they have finished, memory is as in a
/// sequential run, and the program can go on if that run fits in the bound.
///
/// Messages between processes stand in the order like tasks: a process sends or receives
/// a datum. They end when another process has done its part, so nothing may count on
/// their end: until then they count as not started, and what they work on stays. With
/// that, and when all processes submit their parts of one order, the whole job can be
/// completed in it (docs/decisions/0042).
///
/// What tasks are booked for is held against what is really allocated: blocks are
/// attributed to data when the task that fetched them starts, and booked bytes are given
/// back when the blocks are really freed.
///
/// Where that is not enough there are two ways to go on.
///
/// let_evict(): whoever allocates has data written to a disk that no running task needs.
/// From then on such a datum is in memory for sure only while tasks that work on it run:
/// each of them has it in its alloc_i and its free_i, and while several run it is booked
/// once. Data that stay are in memory as before. So the rule above holds with other
/// numbers: every task starts some time if it fits beside what stays at its place in the
/// order (docs/decisions/0053).
///
/// let_exceed(): the bound is raised, whenever a task is refused for the sake of those
/// behind the horizon, to what all that has been submitted needs (docs/decisions/0054).
///
/// Handles, blocks and tasks are opaque. Not thread-safe; calls nothing outside.
///
/// @par Cost    O(k log n) a task with k data; at most 200 bytes for each task that has
///              not ended, with its datum
/// @par Source  the banker's algorithm [Dij65]; docs/theory/memory_model.md
/// @par Test    DataGate.*, and DataGateJobs.* over jobs of several processes
class DataGate {
 public:
  enum class Op : std::uint32_t { kNone = PointerMap::kNone };
  /// A bound with which nothing is ever held, and no order kept: only followed.
  static constexpr Bytes kUnlimited = Bytes{1} << 62;

  /// `measured`: allocated() and freed() will be called. Otherwise data count as freed
  /// when they are released and their last task has ended, and blocks are only counted.
  DataGate(Bytes bound, bool measured);

  /// A task is submitted; each handle once. @return kNone: it needs no memory
  /// @throws OverflowError when the sizes of all data sum to more than 2^62
  Op submit(const void* task, std::span<const DataAccess> accesses);
  /// A message is submitted that works on the datum; end() when it is completed.
  Op submit_message(const void* message, const DataAccess& access);
  /// Whether a task submitted now with this access would allocate memory for it.
  [[nodiscard]] bool allocates(const DataAccess& access) const;
  /// Whether it matters to submit() where some of the data are.
  [[nodiscard]] bool adopts(std::span<const DataAccess> accesses) const;
  [[nodiscard]] Op find(const void* task) const { return Op{tasks_.find(task)}; }
  /// The datum is freed once the tasks submitted so far have worked on it.
  void release(const void* handle);

  /// The task is ready. @return false: the gate holds it
  [[nodiscard]] bool ready(Op op, Seconds now);
  /// The task starts whatever the gate says.
  void start(Op op);
  [[nodiscard]] bool started(Op op) const { return ops_[index(op)].started != 0; }
  /// Appends held tasks that may start now. Call after release, end and freed.
  void admit_held(Seconds now, std::vector<void*>& admitted);

  /// Nothing that has started has not ended, tasks are held, and no message comes before
  /// them, for which another process may have to work first.
  [[nodiscard]] bool stalled() const {
    return started_ == 0 && !held_.empty() && !awaits_message();
  }
  /// Tasks are held, and a message comes before the first of them.
  [[nodiscard]] bool awaits_message() const;
  /// When stalled: memory that nothing needs any more has not been freed yet.
  [[nodiscard]] bool awaits_frees() const { return report_.booked > base_; }
  [[nodiscard]] bool holds() const { return !held_.empty(); }
  [[nodiscard]] std::size_t held() const { return held_.size(); }
  /// Lets in the first held task that fits now, though nothing proves that the rest can
  /// still finish. @return nullptr: none fits
  [[nodiscard]] void* admit_unproven(Seconds now);
  /// Lets in the first held task, over the bound. Something must be held.
  [[nodiscard]] void* admit_over_bound(Seconds now);
  /// From now on data are evicted. When stalled() only.
  void let_evict();
  [[nodiscard]] bool evicts() const { return evicting_; }
  /// From now on the bound is raised where it does not suffice.
  void let_exceed() { exceeding_ = true; }

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
  /// A block of StarPU-MPI's own: a message that came before it was asked for, or that is
  /// packed. Measured, not booked: nothing that is held could make it go away. Smaller
  /// ones than kSentAtOnce are not part of what is allocated, either: they would else be
  /// in buffers of MPI's.
  void allocated_for_message(const void* block, Bytes bytes);
  /// The block is about to be freed: its address may soon be another block's.
  /// `evicted`: for the sake of another datum, and not because it was released.
  [[nodiscard]] std::uint32_t freeing(const void* block, bool evicted = false);
  /// It is no longer allocated; with what freeing() returned.
  void left(std::uint32_t block);
  /// Its bytes may be used for others. @return true: booked bytes were given back
  bool freed(std::uint32_t block);

  [[nodiscard]] Bytes bound() const { return bound_; }
  [[nodiscard]] Bytes booked() const { return report_.booked; }
  [[nodiscard]] Bytes allocated_now() const { return report_.allocated; }
  /// All that the task works on.
  [[nodiscard]] Bytes footprint(Op op) const;
  /// In memory until they are freed, once others are evicted.
  [[nodiscard]] Bytes staying() const { return evicting_ ? base_ : 0; }
  /// Booked now and what the first held task needs on top; 0 when none is held.
  [[nodiscard]] Bytes needed_now() const;
  [[nodiscard]] const void* first_held() const;
  /// Whether the first held task is the first of all that have not started: memory alone
  /// keeps it from running.
  [[nodiscard]] bool first_is_held() const;
  [[nodiscard]] DataGateReport report() const;

 private:
  using Index = std::uint32_t;
  static constexpr Index kNone = PointerMap::kNone;
  enum class State : std::uint8_t {
    kAbsent,   // not allocated, nothing booked
    kBooked,   // booked; allocated as far as `allocated` says
    kEvicted,  // was booked, its memory has been taken for others
  };
  struct Datum {
    const void* handle;
    Bytes size, allocated;
    std::uint64_t last;     // sequence number of the last task that works on it
    Index oldest, newest;   // accesses of tasks not started, in order of submission
    std::uint32_t unended;  // tasks
    State state;
    bool released : 1, stays : 1;
    std::uint16_t running = 0;  // tasks that have started; once data are evicted
  };
  // There can be millions of the next three: no byte is wasted.
  struct Access {
    Index op;
    Index datum : 30;
    Index booked : 1, refetched : 1;  // by the start of the task
    Index older, newer;               // of the datum, among tasks not started
    Index next;                       // of the task
  };
  struct Task {
    void* task;
    std::uint64_t sequence : 62, started : 1, message : 1;
    Index first_access;
    WitnessTree::Place place;
  };
  /// A task's part in the sequential run, for report().least.
  struct Step {
    Bytes alloc = 0;
    [[nodiscard]] bool ended() const { return free_ < 0; }
    [[nodiscard]] Bytes free() const { return ended() ? ~free_ : free_; }
    void add_free(Bytes bytes) { free_ += ended() ? -bytes : bytes; }
    void end() { free_ = ~free_; }

   private:
    Bytes free_ = 0;  // ended: its complement
  };
  static constexpr Index kDatum = (Index{1} << 30) - 1;  // bits of an index
  static constexpr std::uint64_t kNumber = (std::uint64_t{1} << 62) - 1;  // of the others
  static_assert(sizeof(Datum) == 48 && sizeof(Access) == 20 && sizeof(Task) == 24 &&
                sizeof(Step) == 16);
  struct Block {
    Bytes bytes;
    Index datum;  // kNone: none
    enum : std::uint8_t { kForeign, kFetched, kOwned, kExtra, kMessage } owner;
    bool evicted = false;                // when it is freed
    [[nodiscard]] bool counts() const {  // as allocated
      return owner != kForeign && (owner != kMessage || bytes >= kSentAtOnce);
    }
  };
  /// Objects at indices that stay, those given back used again.
  template <class T>
  struct Pool {
    std::deque<T> items;
    std::vector<Index> vacant;
    Index take(const T& item) {
      if (vacant.empty()) {
        items.push_back(item);
        return static_cast<Index>(items.size() - 1);
      }
      const Index i = vacant.back();
      vacant.pop_back();
      items[i] = item;
      return i;
    }
    void give_back(Index i) { vacant.push_back(i); }
    T& operator[](Index i) { return items[i]; }
    const T& operator[](Index i) const { return items[i]; }
  };
  [[nodiscard]] static constexpr Index index(Op op) { return static_cast<Index>(op); }

  // Submission.
  Op submit(const void* task, std::span<const DataAccess> accesses, bool message);
  Index datum_for(const DataAccess& access, Bytes& sequential);
  Index adopt(const DataAccess& access);
  Bytes link(Index op, Index datum);

  // Starting a task, and taking that back.
  [[nodiscard]] Bytes to_allocate(const Task& task) const;
  [[nodiscard]] bool try_start(Index op);
  void apply(Index op);
  void revert(Index op);
  void book(Datum& datum, Bytes bytes);
  void note_peak();
  void raise_limit();
  void change(const Task& task, Bytes more_alloc, Bytes more_free) {
    if (!unlimited_) witness_.change(task.place, more_alloc, more_free);
  }
  void count_held(Seconds now);
  void hold(Index op);
  Index take_first_held();
  [[nodiscard]] auto later() const {
    return [this](Index a, Index b) { return ops_[a].sequence > ops_[b].sequence; };
  }

  // The end of data.
  void note_allocated(Bytes bytes);
  void note_message(Bytes bytes);
  void book_extra(Bytes bytes);
  void put(const Access& access, Index block);
  void own(const Access& access, Index block);
  void drop(Index datum);
  void forget(Datum& datum);
  void give_back(Index datum);
  [[nodiscard]] static bool doomed(const Datum& d) {
    return d.released && d.newest == kNone;
  }
  /// In memory for sure only while a task that works on it runs.
  [[nodiscard]] bool loose(const Datum& d) const { return evicting_ && !d.stays; }
  void loosen(Datum& datum);

  // The sequential run.
  void step_frees(const Datum& datum, Bytes bytes);
  void retire_steps();

  const Bytes bound_;
  const bool measured_, unlimited_;
  Bytes limit_;  // the bound, or more once it is exceeded
  bool evicting_ = false, exceeding_ = false;
  Bytes base_ = 0;            // booked that remain when what has started has ended
  Bytes promised_ = 0;        // sizes of all data known, against overflow
  std::int64_t started_ = 0;  // and not ended
  WitnessTree witness_;
  std::vector<Index> needed_;  // by the task being submitted
  Pool<Task> ops_;
  Pool<Datum> data_;
  Pool<Access> accesses_;
  Pool<Block> blocks_;
  PointerMap tasks_, handles_, block_at_;
  PointerMap dying_;  // handles to their released data, until these have been freed
  std::set<std::uint64_t> messages_;  // sequence numbers of those that have not ended
  std::vector<Index> held_;           // a heap, the first task in order on top
  Seconds counted_ = 0;               // until then, held_time is
  std::deque<Step> steps_;            // of tasks from first_step_ on
  std::uint64_t first_step_ = 0, next_sequence_ = 0;
  Bytes sequential_ = 0;  // in memory in the sequential run, before steps_
  Bytes extra_ = 0, message_bytes_ = 0;
  std::int64_t message_blocks_ = 0;
  DataGateReport report_;
};

}  // namespace espalier::policy
