// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <mutex>
#include <optional>
#include <set>
#include <thread>
#include <tuple>

#include "espalier/checkpoint/revolve.h"
#include "espalier/model/error.h"
#include "solver/runtime/runtime.h"
#include "support/file_size_limit.h"
#include "support/listed_actions.h"
#include "training/chain/chain_budget.h"
#include "training/chain/chain_schedule.h"
#include "training/chain/submit_task.h"
#include "training/chain_runs.h"

namespace espalier::training {
namespace TEST_SOURCE {

// x_{i+1} = 3 x_i + i on 64-bit integers in two parts; backward steps note what they see.
class Counting {
 public:
  Counting(std::int64_t steps, FirstError& errors)
      : errors_(errors), seen_(static_cast<std::size_t>(steps)) {
    chain_.steps = steps;
    chain_.parts = {8, 4096};
  }

  [[nodiscard]] const Chain& chain() const { return chain_; }
  Chain& chain() { return chain_; }
  std::int64_t fails_at = -1;  // in a task
  std::int64_t throws_at = -1;

  ChainCallbacks callbacks() {
    return {
        .start =
            [this](const StateBuffer& to) {
              submit({.kind = 's', .to = numbers(to)}, {}, &to);
            },
        .advance =
            [this](std::int64_t step, const StateBuffer& from, const StateBuffer& to) {
              if (step == throws_at) throw InvalidInput("thrown by advance");
              submit(
                  {.kind = 'a', .step = step, .from = numbers(from), .to = numbers(to)},
                  from, &to);
            },
        .backward =
            [this](std::int64_t step, const StateBuffer& at) {
              submit({.kind = 'b', .step = step, .from = numbers(at)}, at, nullptr);
            },
        .stop = {}};
  }

  /// What each backward step saw, by step.
  std::vector<std::uint64_t> seen() const { return seen_; }
  std::vector<std::uint64_t> expected() const {
    std::vector<std::uint64_t> states = {7};
    for (std::int64_t i = 0; i + 1 < chain_.steps; ++i)
      states.push_back(3 * states.back() + static_cast<std::uint64_t>(i));
    return states;
  }

 private:
  struct Task {
    char kind = 0;
    std::int64_t step = 0;
    std::uint64_t *from = nullptr, *to = nullptr;
    Counting* self = nullptr;
  };
  static std::uint64_t* numbers(const StateBuffer& state) {
    return reinterpret_cast<std::uint64_t*>(state.data);
  }

  void submit(Task task, const StateBuffer& from, const StateBuffer* to) {
    static starpu_codelet codelet = make_open_codelet(
        [](void**, void* arguments) {
          const Task& mine = *static_cast<const Task*>(arguments);
          try {
            mine.self->compute(mine);
          } catch (...) {
            mine.self->errors_.keep(std::current_exception());
          }
        },
        "counting");
    task.self = this;
    std::vector<Access> accesses;
    const bool in_place = to != nullptr && to->data == from.data;
    if (!in_place)
      for (const auto part : from.parts) accesses.push_back({part, STARPU_R});
    if (to != nullptr)
      for (const auto part : to->parts)
        accesses.push_back({part, in_place ? STARPU_RW : STARPU_W});
    submit_task(codelet, accesses, task);
  }

  void compute(const Task& task) {
    constexpr std::size_t kCount = (8 + 4096) / sizeof(std::uint64_t);
    if (task.step == fails_at) throw Error("failed in a task");
    if (task.kind == 's') std::fill_n(task.to, kCount, std::uint64_t{7});
    if (task.kind == 'a')
      for (std::size_t k = 0; k < kCount; ++k)
        task.to[k] = 3 * task.from[k] + static_cast<std::uint64_t>(task.step);
    if (task.kind != 'b') return;
    for (std::size_t k = 1; k < kCount; ++k)
      if (task.from[k] != task.from[0]) throw Error("a state is torn");
    seen_[static_cast<std::size_t>(task.step)] = task.from[0];
  }

  Chain chain_;
  FirstError& errors_;
  std::vector<std::uint64_t> seen_;  // each entry is one task's
};

// Slots in plain memory whose transfers end on threads of their own, in any order; of
// those of the same bytes one at a time.
class ScatteredStore final : public SlotStore {
 public:
  explicit ScatteredStore(Bytes bytes) : memory_(static_cast<std::size_t>(bytes)) {}

  void write(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override {
    carry_out(offset, data, true, std::move(done));
  }
  void fetch(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override {
    carry_out(offset, data, false, std::move(done));
  }
  void check() override {
    if (overlapped_) throw Error("two transfers of the same bytes at a time");
  }
  void fail() { fails_ = true; }

 private:
  void carry_out(Bytes offset, std::span<std::byte> data, bool writes,
                 std::function<void()> done) {
    if (fails_) throw Error("the store failed");
    const std::scoped_lock lock(mutex_);
    if (!busy_.insert(offset).second) overlapped_ = true;
    const int wait = static_cast<int>(threads_.size() * 7 % 5);
    threads_.emplace_back([this, offset, data, writes, wait, done = std::move(done)] {
      std::this_thread::sleep_for(std::chrono::microseconds(100 * wait));
      std::byte* const place = memory_.data() + offset;
      if (writes)
        std::ranges::copy(data, place);
      else
        std::copy_n(place, data.size(), data.data());
      {
        const std::scoped_lock held(mutex_);
        busy_.erase(offset);
      }
      done();
    });
  }

  std::vector<std::byte> memory_;
  std::atomic<bool> fails_ = false, overlapped_ = false;
  std::mutex mutex_;
  std::set<Bytes> busy_;
  std::deque<std::jthread> threads_;
};

class RunChain : public testing::Test {
 protected:
  RunChain() : runtime_({.workers = 2}) { runtime_.wake(); }
  ~RunChain() override { runtime_.sleep(); }

  std::string message_of(Counting& counting, ActionStream& schedule,
                         const ChainLimits& limits) {
    try {
      static_cast<void>(
          run_chain(counting.chain(), schedule, counting.callbacks(), limits, errors_));
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  }

  solver::Runtime runtime_;
  FirstError errors_;
};

TEST_F(RunChain, GivesEachBackwardStepItsState) {
  for (const bool in_place : {true, false})
    for (const std::int64_t steps : {1, 2, 3, 17, 200})
      for (const std::int64_t slots : {1, 3, 300}) {
        for (const std::int32_t window : {1, 64}) {
          if (steps == 200 && slots == 1 && window == 1) continue;  // too long
          Counting counting(steps, errors_);
          counting.chain().in_place = in_place;
          RevolveStream schedule(steps, slots);
          const ChainReport report =
              run_chain(counting.chain(), schedule, counting.callbacks(),
                        {.memory_slots = slots, .window = window}, errors_);
          EXPECT_EQ(counting.seen(), counting.expected());
          EXPECT_EQ(report.advances, revolve_cost(steps, slots));
        }
      }
}

TEST_F(RunChain, KeepsStatesOnDiskInTheOrderOfTheSchedule) {
  const TemporaryDirectory directory;
  for (const bool in_place : {true, false})
    for (const auto& [memory, disk] :
         {std::pair{0, 1}, {0, 5}, {1, 1}, {2, 4}, {3, 60}}) {
      Counting counting(60, errors_);
      counting.chain().in_place = in_place;
      const CheckpointSchedule schedule = schedule_for(60, memory, disk);
      const ChainReport report = run_chain(
          counting.chain(), *schedule.actions(), counting.callbacks(),
          {.memory_slots = memory, .disk_slots = disk, .directory = directory.path()},
          errors_);
      EXPECT_EQ(counting.seen(), counting.expected());
      EXPECT_EQ(report.advances, schedule.advances);
    }
}

TEST_F(RunChain, KeepsStatesOnThreeLevels) {
  const TemporaryDirectory directory;
  for (const bool in_place : {true, false})
    for (const auto& [memory, remote, disk] :
         {std::tuple{0, 4, 0}, {2, 3, 0}, {0, 3, 5}, {2, 4, 50}}) {
      Counting counting(60, errors_);
      counting.chain().in_place = in_place;
      ScatteredStore store(remote * counting.chain().state_bytes());
      const ChainLimits limits{.memory_slots = memory,
                               .disk_slots = disk,
                               .directory = directory.path(),
                               .remote_slots = remote,
                               .remote = &store};
      const CheckpointSchedule schedule = make_schedule(
          counting.chain(), limits,
          {.disk_write = 2, .disk_read = 2, .remote_write = 0.1, .remote_read = 0.1});
      const ChainReport report = run_chain(counting.chain(), *schedule.actions(),
                                           counting.callbacks(), limits, errors_);
      EXPECT_EQ(counting.seen(), counting.expected());
      EXPECT_EQ(report.advances, schedule.advances);
      EXPECT_GT(report.remote_restores, 0);
      EXPECT_EQ(report.disk_restores > 0, disk > 0);
    }
}

TEST_F(RunChain, WhatADiskCostsDecidesHowMuchGoesThere) {
  const Chain chain{.steps = 40, .parts = {8}, .in_place = true};
  const ChainLimits disk{.memory_slots = 0, .disk_slots = 39, .directory = "unused"};
  const auto schedule = [&](double cost) {
    return make_schedule(chain, disk, {.disk_write = cost, .disk_read = cost});
  };
  EXPECT_EQ(schedule(0.1).advances, 39);
  EXPECT_EQ(schedule(0.1).use[0].writes, 38);
  EXPECT_EQ(schedule(1e5).advances, 39 * 40 / 2);
  EXPECT_EQ(schedule(1e5).use[0].writes, 0);
}

TEST_F(RunChain, NothingIsProvedOfUnequalStepsOutsideMemory) {
  const Chain chain{.steps = 40, .parts = {8}, .in_place = true};
  std::vector<Nanoseconds> costs(40, 3);
  const auto proof = [&](std::int64_t memory, std::int64_t disk) {
    return make_schedule(
               chain, {.memory_slots = memory, .disk_slots = disk, .directory = "unused"},
               {.steps = costs})
        .proof;
  };
  EXPECT_EQ(proof(2, 3), CheckpointProof::kOptimal);
  costs[7] = 50;
  EXPECT_EQ(proof(2, 3), CheckpointProof::kBestFound);
  EXPECT_EQ(proof(0, 3), CheckpointProof::kBestFound);
  EXPECT_EQ(proof(3, 0), CheckpointProof::kOptimal);
}

TEST_F(RunChain, ThrowsWhatAStoreThrows) {
  Counting counting(60, errors_);
  ScatteredStore store(4 * counting.chain().state_bytes());
  store.fail();
  const ChainLimits limits{.memory_slots = 0, .remote_slots = 4, .remote = &store};
  EXPECT_EQ(message_of(counting, *make_schedule(counting.chain(), limits, {}).actions(),
                       limits),
            "the store failed");
}

TEST_F(RunChain, StopsWhenItIsTold) {
  Counting counting(1000, errors_);
  ChainCallbacks callbacks = counting.callbacks();
  callbacks.stop = [](std::int64_t advances) { return advances >= 50; };
  RevolveStream schedule(1000, 3);
  const ChainReport report =
      run_chain(counting.chain(), schedule, callbacks, {.memory_slots = 3}, errors_);
  EXPECT_TRUE(report.stopped);
  EXPECT_EQ(report.advances, 50);
  EXPECT_EQ(report.reverses, 0);
}

TEST_F(RunChain, ThrowsWhatATaskKept) {
  Counting counting(100, errors_);
  counting.fails_at = 40;
  RevolveStream schedule(100, 5);
  EXPECT_EQ(message_of(counting, schedule, {.memory_slots = 5}), "failed in a task");
}

TEST_F(RunChain, ThrowsWhatACallbackThrows) {
  Counting counting(100, errors_);
  counting.throws_at = 40;
  RevolveStream schedule(100, 5);
  EXPECT_EQ(message_of(counting, schedule, {.memory_slots = 5}), "thrown by advance");
}

TEST_F(RunChain, RefusesASlotThatThereIsNot) {
  Counting counting(10, errors_);
  for (const Place place : {Place{0, 2}, Place{1, 0}, Place{2, 0}}) {
    support::ListedActions schedule({Action::forward(0, 9, place), Action::reverse(9)});
    EXPECT_NE(message_of(counting, schedule, {.memory_slots = 2}).find("there is none"),
              std::string::npos);
  }
}

TEST_F(RunChain, FindsAFullDiskBeforeTheFirstStep) {
  const TemporaryDirectory directory;
  const support::FileSizeLimit limit(64 << 10);
  Counting counting(100, errors_);
  counting.throws_at = 0;
  const CheckpointSchedule schedule = schedule_for(100, 1, 50);
  const std::string message =
      message_of(counting, *schedule.actions(),
                 {.memory_slots = 1, .disk_slots = 50, .directory = directory.path()});
  EXPECT_NE(message.find(directory.path()), std::string::npos) << message;
  EXPECT_NE(message.find("cannot reserve"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

// The limit is lowered once the space is reserved: writes fail in the middle of the run.
TEST_F(RunChain, EndsWithTheErrorOfADiskThatFails) {
  const TemporaryDirectory directory;
  Counting counting(100, errors_);
  const CheckpointSchedule schedule = schedule_for(100, 0, 50);
  ChainCallbacks callbacks = counting.callbacks();
  std::optional<support::FileSizeLimit> limit;
  callbacks.stop = [&](std::int64_t advances) {
    if (advances == 10) limit.emplace(rlim_t{16} << 10);
    return false;
  };
  std::string message = "nothing was thrown";
  try {
    static_cast<void>(run_chain(
        counting.chain(), *schedule.actions(), callbacks,
        {.memory_slots = 0, .disk_slots = 50, .directory = directory.path()}, errors_));
  } catch (const Error& error) {
    message = error.what();
  }
  EXPECT_NE(message.find("cannot write"), std::string::npos) << message;
  EXPECT_TRUE(std::filesystem::is_empty(directory.path()));
}

TEST_F(RunChain, TakesAsManySlotsAsABoundAllows) {
  ChainBudget budget;
  budget.chain = {.steps = 50, .parts = {1 << 20}, .in_place = true};
  budget.account = {.peak_before = 20 << 20, .baseline = 10 << 20, .reserve = 3 << 20};
  budget.beside = 5 << 20;
  const auto slots = [&](Bytes bound, const ChainWish& wish) {
    const auto limits = fit_slots(budget, wish, bound);
    return limits ? limits->memory_slots : -1;
  };
  const auto needed = [&](const ChainLimits& limits) {
    return budget.account.needed(budget.beside + memory_of(budget.chain, limits));
  };
  const Bytes seven = needed({.memory_slots = 7});
  EXPECT_EQ(slots(seven, {}), 7);
  EXPECT_EQ(slots(seven - 1, {}), 6);
  EXPECT_EQ(slots(Bytes{1} << 40, {}), 49);
  EXPECT_EQ(slots(seven, {.memory_slots = 4, .disk_slots = {}}), 4);
  const auto refused = fit_slots(budget, {.memory_slots = 8, .disk_slots = {}}, seven);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().least_bytes, budget.least({.memory_slots = 8}));
  // One of the disk's two buffers is worth more than a slot.
  EXPECT_EQ(slots(seven, {.memory_slots = {}, .disk_slots = {}, .directory = "d"}), 6);
  EXPECT_LT(budget.least(true), budget.least(false));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::training
