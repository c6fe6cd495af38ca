// The cases of one subject, which share their instances: over 300 lines.

#include "policy/core/submission_gate.h"

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <set>

#include "support/handle_program.h"
#include "support/sanitized.h"

namespace espalier::policy {
namespace TEST_SOURCE {

using Op = SubmissionGate::Op;

const void* at(std::uintptr_t address) { return reinterpret_cast<const void*>(address); }

// A program under a gate as StarPU would run it: implicit dependencies, tasks that are
// ready in any order, workers that take any time, memory freed some time after the last
// task. Everything is checked against bookkeeping of its own.
class Execution {
 public:
  Execution(const support::HandleProgram& program, Bytes bound, bool measured,
            std::mt19937& random)
      : program_(program),
        bound_(bound),
        measured_(measured),
        random_(random),
        gate_(bound, measured),
        current_(program.sizes.size(), -1) {}

  /// Runs to the end. @return false when nothing can go on
  bool run(int workers) {
    for (;;) {
      std::vector<int> choices;  // 0 submit, 1 start, 2 end, 3 free
      if (next_ < program_.steps.size()) choices.push_back(0);
      if (!admitted_.empty() && static_cast<int>(running_.size()) < workers)
        choices.push_back(1);
      if (!running_.empty()) choices.push_back(2);
      if (!freeable().empty()) choices.push_back(3);
      if (choices.empty()) break;
      switch (choices[draw(choices.size())]) {
        case 0:
          submit();
          break;
        case 1:
          start();
          break;
        case 2:
          end();
          break;
        default:
          free_one();
      }
      admit_ready();
      if (gate_.booked() > bound_ || in_memory_ > gate_.booked()) return false;
      peak_ = std::max(peak_, in_memory_);
    }
    return ended_ == tasks_.size();
  }

  [[nodiscard]] Bytes peak() const { return peak_; }
  [[nodiscard]] const SubmissionGate& gate() const { return gate_; }
  [[nodiscard]] bool decisions_match() const { return match_; }

 private:
  struct Datum {  // one life of a handle
    int handle;
    Bytes size;
    std::vector<std::size_t> tasks;
    std::vector<std::size_t> readers;  // since the last writer
    std::optional<std::size_t> writer;
    bool booked = false, released = false, freed = false;
    int blocked_by = -1;  // the life before
    std::uintptr_t block = 0;
  };
  struct Task {
    std::vector<std::size_t> data, needs;
    std::set<int> lives_needed;
    Op op = Op::kNone;
    bool ready = false, started = false, ended = false;
  };

  std::size_t draw(std::size_t count) {
    return std::uniform_int_distribution<std::size_t>(0, count - 1)(random_);
  }
  const void* handle(int datum) {
    return at(0x1000 + 16 * static_cast<std::uintptr_t>(datum));
  }
  const void* task_at(std::size_t t) { return at(0x100000 + 16 * t); }
  [[nodiscard]] Bytes cost(const Datum& d) const { return d.size; }

  void submit() {
    const auto& step = program_.steps[next_++];
    if (step.release) {
      const int d = step.reads[0];
      const auto life = static_cast<std::size_t>(current_[static_cast<std::size_t>(d)]);
      lives_[life].released = true;
      gate_.release(handle(d));
      previous_[d] = static_cast<int>(life);
      current_[static_cast<std::size_t>(d)] = -1;
      free_unseen();
      return;
    }
    const std::size_t t = tasks_.size();
    Task task;
    std::vector<DataAccess> accesses;
    const auto access = [&](int d, bool writes) {
      int& life = current_[static_cast<std::size_t>(d)];
      if (life < 0) {
        life = static_cast<int>(lives_.size());
        Datum fresh;
        fresh.handle = d;
        fresh.size = program_.sizes[static_cast<std::size_t>(d)];
        if (previous_.contains(d)) fresh.blocked_by = previous_[d];
        lives_.push_back(fresh);
      }
      Datum& datum = lives_[static_cast<std::size_t>(life)];
      if (datum.blocked_by >= 0) task.lives_needed.insert(datum.blocked_by);
      if (datum.writer) task.needs.push_back(*datum.writer);
      if (writes) {
        task.needs.insert(task.needs.end(), datum.readers.begin(), datum.readers.end());
        datum.readers.clear();
        datum.writer = t;
      } else {
        datum.readers.push_back(t);
      }
      datum.tasks.push_back(t);
      task.data.push_back(static_cast<std::size_t>(life));
      accesses.push_back({handle(d), datum.size, block_of(d)});
    };
    for (const int d : step.reads) access(d, false);
    for (const int d : step.writes) access(d, true);
    task.op = gate_.submit(task_at(t), accesses);
    tasks_.push_back(task);
  }

  // What StarPU says of a handle at this moment: the block of its life before, when that
  // has not been freed yet.
  const void* block_of(int d) {
    for (auto life = lives_.rbegin(); life != lives_.rend(); ++life)
      if (life->handle == d && life->block != 0 && !life->freed) return at(life->block);
    return nullptr;
  }

  // By the definition in submission_gate.h, by scanning.
  [[nodiscard]] std::optional<std::size_t> horizon(
      std::optional<std::size_t> starting) const {
    std::vector<bool> booked;
    Bytes memory = 0;
    const auto is_started = [&](std::size_t t) {
      return tasks_[t].started || (starting && *starting == t);
    };
    for (const Datum& d : lives_) {
      bool live = d.booked && !d.freed;
      if (starting)
        for (const std::size_t t : d.tasks) live = live || (t == *starting && !d.freed);
      bool all_started = true;
      for (const std::size_t t : d.tasks) all_started = all_started && is_started(t);
      booked.push_back(live);
      if (live && !(d.released && all_started)) memory += cost(d);
    }
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      if (is_started(t) || tasks_[t].op == Op::kNone) continue;
      for (const std::size_t life : tasks_[t].data)
        if (!booked[life]) {
          booked[life] = true;
          memory += cost(lives_[life]);
        }
      if (memory > bound_) return t;
      for (const std::size_t life : tasks_[t].data) {
        const Datum& d = lives_[life];
        bool last = d.released;
        for (const std::size_t other : d.tasks)
          last = last && (other <= t || is_started(other));
        if (last) memory -= cost(d);
      }
    }
    return std::nullopt;
  }

  [[nodiscard]] bool may_start(std::size_t t) const {
    Bytes booked = 0, more = 0;
    for (const Datum& d : lives_)
      if (d.booked && !d.freed) booked += cost(d);
    for (const std::size_t life : tasks_[t].data)
      if (!lives_[life].booked) more += cost(lives_[life]);
    if (more == 0) return true;
    const auto before = horizon(std::nullopt), after = horizon(t);
    return booked + more <= bound_ && (!before || t < *before) &&
           (!after || (before && *after >= *before));
  }

  void mark_started(std::size_t t) {
    tasks_[t].started = true;
    for (const std::size_t life : tasks_[t].data) lives_[life].booked = true;
    admitted_.push_back(t);
  }

  void admit_ready() {
    std::vector<void*> released;
    gate_.admit_held(0, released);
    for (void* const task : released) {
      const std::size_t t = (reinterpret_cast<std::uintptr_t>(task) - 0x100000) / 16;
      match_ = match_ && may_start(t);
      mark_started(t);
    }
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      Task& task = tasks_[t];
      if (task.ready) continue;
      bool ready = true;
      for (const std::size_t need : task.needs) ready = ready && tasks_[need].ended;
      for (const int life : task.lives_needed)
        ready = ready && lives_[static_cast<std::size_t>(life)].freed;
      if (!ready) continue;
      task.ready = true;
      if (task.op == Op::kNone) {
        mark_started(t);
        continue;
      }
      const bool expected = may_start(t);
      const bool admitted = gate_.ready(task.op, 0);
      match_ = match_ && expected == admitted;
      if (admitted) mark_started(t);
    }
  }

  void start() {
    const std::size_t i = draw(admitted_.size()), t = admitted_[i];
    admitted_.erase(admitted_.begin() + static_cast<std::ptrdiff_t>(i));
    running_.push_back(t);
    std::vector<const void*> blocks;
    std::vector<DataAccess> places;
    for (const std::size_t life : tasks_[t].data) {
      Datum& d = lives_[life];
      if (d.block == 0 && d.size > 0) {
        d.block = next_block_ += 64;
        in_memory_ += d.size;
        if (measured_) gate_.allocated(at(d.block), d.size, true);
        blocks.push_back(at(d.block));
      }
      places.push_back({handle(d.handle), d.size, d.block != 0 ? at(d.block) : nullptr});
    }
    if (measured_ && tasks_[t].op != Op::kNone) {
      gate_.fetched(tasks_[t].op, blocks, places);
      match_ = match_ && !gate_.unplaced(tasks_[t].op);
    }
  }

  void end() {
    const std::size_t i = draw(running_.size()), t = running_[i];
    running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
    tasks_[t].ended = true;
    ++ended_;
    if (tasks_[t].op != Op::kNone) gate_.end(tasks_[t].op);
    free_unseen();
  }

  // Without measuring, what the gate takes for freed must be freed.
  void free_unseen() {
    if (measured_) return;
    for (const std::size_t life : freeable()) release_memory(life);
  }

  [[nodiscard]] std::vector<std::size_t> freeable() const {
    std::vector<std::size_t> found;
    for (std::size_t life = 0; life < lives_.size(); ++life) {
      const Datum& d = lives_[life];
      bool over = d.released && !d.freed;
      for (const std::size_t t : d.tasks) over = over && tasks_[t].ended;
      if (over) found.push_back(life);
    }
    return found;
  }

  void free_one() {
    const auto lives = freeable();
    release_memory(lives[draw(lives.size())]);
  }

  void release_memory(std::size_t life) {
    Datum& d = lives_[life];
    d.freed = true;
    if (d.block == 0) return;
    in_memory_ -= d.size;
    if (!measured_) return;
    const std::uint32_t block = gate_.freeing(at(d.block));
    gate_.left(block);
    gate_.freed(block);
  }

  const support::HandleProgram& program_;
  const Bytes bound_;
  const bool measured_;
  std::mt19937& random_;
  SubmissionGate gate_;
  std::vector<int> current_;
  std::map<int, int> previous_;
  std::vector<Datum> lives_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> admitted_, running_;
  std::size_t next_ = 0, ended_ = 0;
  std::uintptr_t next_block_ = 0x40000000;
  Bytes in_memory_ = 0, peak_ = 0;
  bool match_ = true;
};

class SubmissionGateRandom : public ::testing::TestWithParam<bool> {};

TEST_P(SubmissionGateRandom, FinishesEveryProgramInsideTheLeastBoundAndAbove) {
  const bool measured = GetParam();
  std::mt19937 random(measured ? 20 : 21);
  for (int round = 0; round < support::rounds(30'000); ++round) {
    support::HandleProgramOptions options;
    options.data = 1 + round % 9;
    options.tasks = 1 + round % 13;
    options.reuses = round % 2 == 0;
    options.releases_late = round % 5 == 0;
    const auto program = support::random_handle_program(random, options);
    const Bytes least = support::sequential_peak(program);
    const Bytes bound = least + (round % 3 == 0 ? 0 : least * (round % 7) / 4);
    Execution execution(program, bound, measured, random);
    ASSERT_TRUE(execution.run(1 + round % 4))
        << "round " << round << ", bound " << bound << '\n'
        << program.text();
    ASSERT_TRUE(execution.decisions_match()) << "round " << round << '\n'
                                             << program.text();
    const SubmissionGateReport report = execution.gate().report();
    ASSERT_LE(execution.peak(), bound);
    ASSERT_LE(report.booked_peak, bound);
    ASSERT_EQ(report.unproven, 0);
    ASSERT_EQ(report.over_bound, 0);
    if (measured) {
      ASSERT_EQ(report.allocated_peak, execution.peak());
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Memory, SubmissionGateRandom, ::testing::Values(true, false),
                         [](const auto& parameter) {
                           return parameter.param ? "Measured" : "NotMeasured";
                         });

TEST(SubmissionGate, KnowsThatMemoryWillBeFreedWithoutAnyTask) {
  SubmissionGate gate(10, true);
  const DataAccess first{at(1), 10}, second{at(2), 10};
  const Op writer = gate.submit(at(101), {&first, 1});
  gate.release(first.handle);
  const Op next = gate.submit(at(102), {&second, 1});
  ASSERT_TRUE(gate.ready(writer, 0));
  gate.allocated(at(1001), 10, true);
  const void* const block = at(1001);
  const DataAccess place{first.handle, 0, block};
  gate.fetched(writer, {&block, 1}, {&place, 1});
  ASSERT_FALSE(gate.ready(next, 0));
  gate.end(writer);
  EXPECT_TRUE(gate.stalled());
  EXPECT_TRUE(gate.awaits_frees());
  gate.freed(gate.freeing(block));
  EXPECT_FALSE(gate.awaits_frees());
  std::vector<void*> admitted;
  gate.admit_held(1, admitted);
  EXPECT_EQ(admitted.size(), 1U);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
