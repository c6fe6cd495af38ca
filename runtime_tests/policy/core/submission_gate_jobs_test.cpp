// Messages in the order of submission: gates of several processes that wait for each
// other. No MPI: a message is completed when both sides have come to it.
//
// The cases of one subject, which share their instances: over 300 lines.

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <random>

#include "policy/core/submission_gate.h"
#include "policy/gate_steps.h"

namespace espalier::policy {
namespace TEST_SOURCE {

// One process's part of a job whose tasks run where their result lives, as StarPU-MPI's
// task insertion does it without a cache: what a task reads from elsewhere is received
// into a copy, which is released after the task.
struct Step {
  enum Kind { kTask, kRoom, kSend, kReceive, kRelease } kind;
  std::vector<int> reads;  // of a message, a room and a release: the one datum
  int writes = -1;
  int message = -1;
};

struct Job {
  std::vector<Bytes> sizes;               // of data
  std::vector<int> owners;                // of data
  std::vector<std::vector<Step>> orders;  // by process: parts of one order of the job
  int messages = 0;
};

Job random_job(std::mt19937& random, int processes, int data, int tasks) {
  const auto draw = [&](int below) {
    return std::uniform_int_distribution<int>(0, below - 1)(random);
  };
  Job job;
  job.orders.resize(static_cast<std::size_t>(processes));
  for (int d = 0; d < data; ++d) {
    job.sizes.push_back(1 + draw(4));
    job.owners.push_back(draw(processes));
  }
  const auto order = [&](int process) -> std::vector<Step>& {
    return job.orders[static_cast<std::size_t>(process)];
  };
  const auto owner = [&](int d) { return job.owners[static_cast<std::size_t>(d)]; };
  std::vector<int> written;
  for (int t = 0; t < tasks; ++t) {
    const int result = draw(data), here = owner(result);
    std::vector<int> reads;
    for (const int d : written)
      if (d != result && reads.size() < 3 && draw(3) == 0) reads.push_back(d);
    for (const int d : reads)
      if (owner(d) != here) {
        order(owner(d)).push_back({Step::kSend, {d}, -1, job.messages});
        order(here).push_back({Step::kRoom, {d}, -1, -1});
        order(here).push_back({Step::kReceive, {d}, -1, job.messages++});
      }
    order(here).push_back({Step::kTask, reads, result, -1});
    for (const int d : reads)
      if (owner(d) != here) order(here).push_back({Step::kRelease, {d}, -1, -1});
    if (std::find(written.begin(), written.end(), result) == written.end())
      written.push_back(result);
    if (draw(3) == 0) {
      const auto gone = static_cast<std::size_t>(draw(static_cast<int>(written.size())));
      order(owner(written[gone])).push_back({Step::kRelease, {written[gone]}, -1, -1});
      written.erase(written.begin() + static_cast<std::ptrdiff_t>(gone));
    }
  }
  return job;
}

// Most memory of a process that takes its steps one after the other.
Bytes sequential_peak(const Job& job, const std::vector<Step>& order) {
  Bytes memory = 0, peak = 0;
  std::vector<char> here(job.sizes.size(), 0);
  // A datum goes with its last use before the release.
  std::map<std::pair<std::size_t, int>, bool> goes;
  std::vector<std::optional<std::size_t>> last(job.sizes.size());
  const auto each = [](const Step& step, auto&& visit) {
    for (const int d : step.reads) visit(d);
    if (step.writes >= 0) visit(step.writes);
  };
  for (std::size_t s = 0; s < order.size(); ++s)
    each(order[s], [&](int d) {
      auto& use = last[static_cast<std::size_t>(d)];
      if (order[s].kind != Step::kRelease)
        use = s;
      else
        goes[{*use, d}] = true;
    });
  for (std::size_t s = 0; s < order.size(); ++s) {
    if (order[s].kind == Step::kRelease) continue;
    each(order[s], [&](int d) {
      const auto i = static_cast<std::size_t>(d);
      if (here[i] == 0) memory += job.sizes[i];
      here[i] = 1;
    });
    peak = std::max(peak, memory);
    each(order[s], [&](int d) {
      const auto i = static_cast<std::size_t>(d);
      if (!goes.contains({s, d})) return;
      memory -= job.sizes[i];
      here[i] = 0;
    });
  }
  return peak;
}

// One process at work: steps are submitted in order, run when those before them on their
// data have ended, and take any time.
class Process {
 public:
  Process(const Job& job, const std::vector<Step>& order, Bytes bound, int workers,
          bool in_order)
      : job_(job),
        order_(order),
        states_(order.size()),
        blocks_(job.sizes.size(), 0),
        workers_(workers),
        in_order_(in_order),
        gate_(bound, true) {}

  [[nodiscard]] bool submits() const { return submitted_ < order_.size(); }
  void submit() {
    const std::size_t s = submitted_++;
    const Step& step = order_[s];
    State& state = states_[s];
    if (step.kind == Step::kRelease) {
      gate_.release(handle(static_cast<std::uintptr_t>(step.reads[0])));
    } else if (step.kind == Step::kTask || step.kind == Step::kRoom) {
      std::vector<DataAccess> accesses;
      for (const int d : step.reads) accesses.push_back(access(d));
      if (step.writes >= 0) accesses.push_back(access(step.writes));
      state.op = gate_.submit(task(s), accesses);
    } else if (in_order_) {
      const DataAccess datum = access(step.reads[0]);
      state.op = gate_.submit_message(task(s), {&datum, 1});
    }
    update();
  }

  /// Tasks that may start or end, and data that may be freed.
  [[nodiscard]] std::vector<std::size_t> movable() const {
    std::vector<std::size_t> result;
    for (std::size_t s = 0; s < submitted_; ++s) {
      const State& state = states_[s];
      if (state.ended || !state.ready) continue;
      const Step::Kind kind = order_[s].kind;
      if (kind == Step::kRelease || state.started ||
          (state.admitted && running_ < workers_))
        result.push_back(s);
    }
    return result;
  }
  void move(std::size_t s) {
    State& state = states_[s];
    if (order_[s].kind == Step::kRelease) {
      free(order_[s].reads[0]);
      state.ended = true;
    } else if (!state.started) {
      start(s);
    } else {
      gate_.end(state.op);
      --running_;
      state.ended = true;
    }
    update();
  }

  /// This side of the message has come to it; has been done with it.
  [[nodiscard]] bool at_message(int m) const {
    const std::optional<std::size_t> s = step_of(m);
    return s && states_[*s].ready && !states_[*s].ended;
  }
  void end_message(int m) {
    State& state = states_[*step_of(m)];
    if (in_order_) gate_.end(state.op);
    state.ended = true;
    update();
  }

  [[nodiscard]] bool ended() const {
    return submitted_ == order_.size() &&
           std::all_of(states_.begin(), states_.end(),
                       [](const State& state) { return state.ended; });
  }
  [[nodiscard]] Bytes in_memory() const { return in_memory_; }
  [[nodiscard]] const SubmissionGate& gate() const { return gate_; }

 private:
  struct State {
    Op op = Op::kNone;
    bool ready = false, admitted = false, started = false, ended = false;
  };

  [[nodiscard]] std::optional<std::size_t> step_of(int m) const {
    for (std::size_t s = 0; s < submitted_; ++s)
      if (order_[s].message == m) return s;
    return std::nullopt;
  }
  [[nodiscard]] DataAccess access(int d) const {
    const auto i = static_cast<std::size_t>(d);
    return {handle(i), job_.sizes[i], blocks_[i] != 0 ? block(blocks_[i]) : nullptr};
  }
  [[nodiscard]] bool writes(std::size_t s, int d) const {
    const Step& step = order_[s];
    return step.writes == d ||
           (step.kind != Step::kTask && step.kind != Step::kSend && step.reads[0] == d);
  }
  [[nodiscard]] bool uses(std::size_t s, int d) const {
    const Step& step = order_[s];
    return step.writes == d ||
           std::find(step.reads.begin(), step.reads.end(), d) != step.reads.end();
  }
  [[nodiscard]] bool can_go(std::size_t s) const {
    for (std::size_t before = 0; before < s; ++before) {
      if (states_[before].ended) continue;
      for (int d = 0; d < static_cast<int>(job_.sizes.size()); ++d)
        if (uses(before, d) && uses(s, d) && (writes(before, d) || writes(s, d)))
          return false;
    }
    return true;
  }

  // Steps whose turn has come ask the gate; those that it held ask again.
  void update() {
    for (std::size_t s = 0; s < submitted_; ++s) {
      State& state = states_[s];
      if (state.ready || state.ended || !can_go(s)) continue;
      state.ready = true;
      if (state.op != Op::kNone && order_[s].message < 0)
        state.admitted = gate_.ready(state.op, 0);
    }
    for (void* const t : admit(gate_))
      for (std::size_t s = 0; s < submitted_; ++s)
        if (task(s) == t) states_[s].admitted = true;
  }

  void start(std::size_t s) {
    State& state = states_[s];
    state.started = true;
    ++running_;
    std::vector<const void*> fetched;
    std::vector<DataAccess> places;
    for (int d = 0; d < static_cast<int>(job_.sizes.size()); ++d) {
      if (!uses(s, d)) continue;
      auto& place = blocks_[static_cast<std::size_t>(d)];
      if (place == 0) {
        place = ++next_block_;
        in_memory_ += job_.sizes[static_cast<std::size_t>(d)];
        gate_.allocated(block(place), job_.sizes[static_cast<std::size_t>(d)], true);
        fetched.push_back(block(place));
      }
      places.push_back(access(d));
    }
    gate_.fetched(state.op, fetched, places);
  }
  void free(int d) {
    auto& place = blocks_[static_cast<std::size_t>(d)];
    if (place == 0) return;
    in_memory_ -= job_.sizes[static_cast<std::size_t>(d)];
    free_block(gate_, place);
    place = 0;
  }

  const Job& job_;
  const std::vector<Step>& order_;
  std::vector<State> states_;
  std::vector<std::uintptr_t> blocks_;  // of data; 0: nowhere
  std::uintptr_t next_block_ = 0;
  const int workers_;
  const bool in_order_;
  std::size_t submitted_ = 0;
  int running_ = 0;
  Bytes in_memory_ = 0;
  SubmissionGate gate_;
};

struct Outcome {
  bool ended = true, kept = true;
};

// Any process does any next thing that it can, until none can.
Outcome run(const Job& job, const std::vector<Bytes>& bounds, int workers, bool in_order,
            std::mt19937& random) {
  std::vector<Process> processes;
  processes.reserve(job.orders.size());
  for (std::size_t p = 0; p < job.orders.size(); ++p)
    processes.emplace_back(job, job.orders[p], bounds[p], workers, in_order);
  std::vector<int> sides(static_cast<std::size_t>(job.messages), 0);
  Outcome outcome;
  for (;;) {
    std::vector<std::function<void()>> choices;
    for (Process& process : processes) {
      if (process.submits()) choices.emplace_back([&] { process.submit(); });
      for (const std::size_t s : process.movable())
        choices.emplace_back([&process, s] { process.move(s); });
    }
    for (int m = 0; m < job.messages; ++m) {
      int& side = sides[static_cast<std::size_t>(m)];
      std::vector<Process*> there;
      for (Process& process : processes)
        if (process.at_message(m)) there.push_back(&process);
      // Sent when both are there; then each learns of it in its own time.
      if (there.size() + static_cast<std::size_t>(side) < 2) continue;
      for (Process* const process : there)
        choices.emplace_back([process, m, &side] {
          process->end_message(m);
          ++side;
        });
    }
    if (choices.empty()) break;
    choices[std::uniform_int_distribution<std::size_t>(0, choices.size() - 1)(random)]();
    for (std::size_t p = 0; p < processes.size(); ++p)
      if (processes[p].gate().booked() > bounds[p] ||
          processes[p].in_memory() > processes[p].gate().booked())
        outcome.kept = false;
  }
  for (const Process& process : processes)
    outcome.ended = outcome.ended && process.ended();
  return outcome;
}

std::string text_of(const Job& job) {
  std::string text;
  for (std::size_t p = 0; p < job.orders.size(); ++p) {
    text += "\nprocess " + std::to_string(p) + ":";
    for (const Step& step : job.orders[p]) {
      text += ' ';
      text += "twsrf"[step.kind];
      for (const int d : step.reads) text += ' ' + std::to_string(d);
      if (step.writes >= 0) text += " > " + std::to_string(step.writes);
      text += ';';
    }
  }
  return text;
}

struct Drawn {
  Job job;
  std::vector<Bytes> least;
};

Drawn drawn(std::mt19937& random) {
  const auto draw = [&](int low, int high) {
    return std::uniform_int_distribution<int>(low, high)(random);
  };
  Drawn result{random_job(random, draw(2, 4), draw(3, 9), draw(4, 30)), {}};
  for (const auto& order : result.job.orders)
    result.least.push_back(std::max<Bytes>(1, sequential_peak(result.job, order)));
  return result;
}

TEST(SubmissionGateJobs, JobsEndInsideTheLeastBoundWhateverTheTiming) {
  for (unsigned seed = 0; seed < 250; ++seed) {
    std::mt19937 random(seed);
    const Drawn d = drawn(random);
    for (const int workers : {1, 2, 5})
      for (const Bytes more : {0, 1, 4}) {
        std::vector<Bytes> bounds = d.least;
        for (Bytes& bound : bounds) bound += more;
        const Outcome outcome = run(d.job, bounds, workers, true, random);
        ASSERT_TRUE(outcome.ended) << "seed " << seed << ", " << workers << " workers, "
                                   << more << " more" << text_of(d.job);
        ASSERT_TRUE(outcome.kept) << "seed " << seed << text_of(d.job);
      }
  }
}

TEST(SubmissionGateJobs, LeastIsThePeakOfTheProcessesPartOfTheOrder) {
  for (unsigned seed = 0; seed < 300; ++seed) {
    std::mt19937 random(seed);
    const Drawn d = drawn(random);
    for (std::size_t p = 0; p < d.job.orders.size(); ++p) {
      Process process(d.job, d.job.orders[p], 1 << 20, 1, true);
      while (process.submits()) process.submit();
      ASSERT_EQ(std::max<Bytes>(1, process.gate().report().least), d.least[p])
          << "seed " << seed << ", process " << p << text_of(d.job);
    }
  }
}

// That they stand in the order is what it takes: gates that do not know of them let in
// what another process's turn needs.
TEST(SubmissionGateJobs, WithoutThemInTheOrderSomeJobsAreStuck) {
  int stuck = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    std::mt19937 random(seed);
    const Drawn d = drawn(random);
    if (!run(d.job, d.least, 2, false, random).ended) ++stuck;
  }
  EXPECT_GT(stuck, 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
