// When nothing goes on, and when a bound cannot be kept.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "espalier/model/exact_size.h"
#include "policy/starpu/clock.h"
#include "policy/starpu/handle_gate.h"
#include "policy/starpu/handles.h"
#include "policy/starpu/spill.h"

namespace espalier::policy {

namespace {

// How long nothing may happen, with tasks held and none running, until the gate gives up
// waiting for the program, which may be about to submit what frees memory.
constexpr Seconds kStallPatience = 5;
// The same when it waits for its tasks; and when moreover the next one in order lacks
// only memory.
constexpr Seconds kPatienceWhenWaiting = 1;
constexpr Seconds kPatienceWhenClear = 0.05;
// While StarPU has yet to free what ended tasks leave, which makes room without any task.
// It does so at once, but a busy machine can take its time.
constexpr Seconds kPatienceForFrees = 5;
// Until the program is told that it may be waiting for messages in vain.
constexpr Seconds kPatienceForMessages = 30;
// For a thread that frees memory and does not come back.
constexpr Seconds kFreeReturns = 0.01;
constexpr auto kWatchInterval = std::chrono::milliseconds(10);
// How long StarPU may look for memory in vain, and the slowest disk that it may wait for.
constexpr Seconds kPatienceForFetches = 20;
constexpr double kSlowestDisk = 10e6;  // bytes a second
constexpr auto kFetchWatchInterval = std::chrono::seconds(1);
constexpr Seconds kLongestLook = 1.5;

// What looks for memory.
std::string fetching_text(std::int64_t tasks, std::int64_t joins) {
  const std::string of_tasks = fmt::format("{} task{}", tasks, tasks == 1 ? "" : "s");
  if (joins == 0) return of_tasks;
  return (tasks > 0 ? of_tasks + " and " : "") +
         "pieces that come together (starpu_data_unpartition_submit), which lie beside "
         "the whole";
}

constexpr std::string_view kHowToLearn =
    ". ESPALIER_ON_OVERFLOW=warn goes on over the bound, and with ESPALIER_REPORT=- says "
    "at the end what would have sufficed";
constexpr std::string_view kOrSpill = "; =disk spills";

}  // namespace

void HandleGate::refuse_too_large(SubmissionGate::Op op, const starpu_task& task) {
  const std::string text = fmt::format(
      "the memory bound of {} (ESPALIER_MEMORY) cannot be kept: task \"{}\" "
      "works on {} at once. At least that much is needed, with a disk, too",
      exact_size(gate_.bound()), name_of(task), exact_size(gate_.footprint(op)));
  if (settings_.on_overflow != Overflow::kWarn)
    throw BoundBroken(text + std::string(kHowToLearn));
  if (!warned_)
    std::fprintf(stderr, "espalier: %s; going on over the bound.\n", text.c_str());
  warned_ = true;
  gate_.let_exceed();
}

Seconds HandleGate::patience() const {
  // Without a way back there is no point in waiting. Nothing is lost by spilling early
  // but the time that it takes.
  if (warned_ && settings_.on_overflow == Overflow::kWarn) return 0;
  if (settings_.on_overflow == Overflow::kDisk && !gate_.evicts())
    return kPatienceWhenClear;
  if (gate_.awaits_frees()) return kPatienceForFrees;
  if (!application_waits_) return kStallPatience;
  return gate_.first_is_held() || overtakes() ? kPatienceWhenClear : kPatienceWhenWaiting;
}

// A task is held to which StarPU has given data already that earlier ones may be waiting
// for: they cannot come first any more.
bool HandleGate::overtakes() const {
  return gate_.holds() && !gate_.first_is_held() &&
         commutes(*static_cast<const starpu_task*>(gate_.first_held()));
}

// While tasks are held: notices when nothing goes on, and serves where workers sleep.
std::optional<Admitted> HandleGate::wait_for_admitted() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    const auto awaited = [this] { return ending_ || gate_.holds(); };
    if (!may_spill())
      watched_.wait(lock, awaited);
    else if (!watched_.wait_for(lock, kFetchWatchInterval, awaited))
      look_for_stuck_fetches();
    std::uint64_t seen = changes_;
    Seconds since = now();
    while (!ending_ && gate_.holds()) {
      watched_.wait_for(lock, kWatchInterval);
      look_for_stuck_fetches();
      late_frees_ += end_pending_frees(nullptr, now() - kFreeReturns);
      Admitted admitted;
      if (room_.exchange(false) || changes_ == seen) gate_.admit_held(now(), admitted);
      if (admitted.empty() && others_go_on(lock)) since = now();
      if (admitted.empty() && gate_.holds() && changes_ == seen && !goes_on()) {
        admitted = act_on_stall(now() - since);
      } else {
        seen = changes_;
        since = now();
      }
      if (admitted.empty()) continue;
      changed();
      return admitted;
    }
  }
  return std::nullopt;
}

// Under its own limit StarPU lets a worker look for memory until it finds some, though it
// may evict nothing of what there is.
void HandleGate::look_for_stuck_fetches() {
  if (!may_spill()) return;
  const SpillProgress spilled = spill_progress();
  const Fetching state = {taken_, fetched_, joins_.ended(), spilled.operations, changes_};
  const std::int64_t tasks = state.taken - state.fetched;
  const bool all = tasks + joins_.under_way() > 0 && throttle_.in_workers() <= tasks;
  // A process that was stopped for long has not looked for memory meanwhile.
  const Seconds time = now();
  stuck_for_ += std::min(time - stuck_seen_, kLongestLook);
  stuck_seen_ = time;
  if (!all || !(state == fetching_)) {
    fetching_ = state;
    stuck_for_ = 0;
    return;
  }
  const Seconds patience =
      kPatienceForFetches + static_cast<double>(spilled.latest) / kSlowestDisk;
  if (stuck_for_ < patience) return;
  throw BoundBroken(fmt::format(
      "the memory bound of {} (ESPALIER_MEMORY) cannot be kept: for {:.0f} s StarPU has "
      "found no memory for the data of {}, though it may write others to the disk. "
      "It evicts neither copies for reductions (STARPU_REDUX) nor what the program has "
      "acquired: give it more memory",
      exact_size(gate_.bound()), patience, fetching_text(tasks, joins_.under_way())));
}

void HandleGate::end_waiting() {
  {
    const std::scoped_lock lock(mutex_);
    ending_ = true;
  }
  watched_.notify_all();
}

bool HandleGate::goes_on() const {
  return throttle_.active() > 0 || (!gate_.stalled() && !gate_.awaits_message());
}

// Something must be let in. First what fits: the order of submission may be none that can
// be followed, as with tags whose predecessor comes later.
Admitted HandleGate::act_on_stall(Seconds still) {
  if (gate_.awaits_message()) {
    if (still > kPatienceForMessages) tell_of_messages();
    return {};
  }
  if (still <= patience()) return {};
  const bool spills = settings_.on_overflow == Overflow::kDisk && !gate_.evicts();
  const bool in_order = spills && gate_.first_is_held();
  void* const fits = in_order ? nullptr : gate_.admit_unproven(now());
  if (fits != nullptr) return {fits};
  // That the program waits is known of its start alone: it may have waited for one task,
  // and be working. To stop it then would be wrong.
  if (still < kStallPatience && !spills && settings_.on_overflow != Overflow::kWarn)
    return {};
  if (overtakes())
    needed_to_overtake_ = std::max<Bytes>(needed_to_overtake_, gate_.needed_now());
  if (gate_.evicts()) throw BoundBroken(overflow_text());
  if (settings_.on_overflow == Overflow::kAbort)
    throw BoundBroken(fmt::format("{}{}{}", overflow_text(), kHowToLearn, kOrSpill));
  Admitted admitted;
  go_on(admitted);
  changed();
  return admitted;
}

// Over the bound, or at the cost of others.
void HandleGate::go_on(Admitted& admitted) {
  const bool spills = settings_.on_overflow == Overflow::kDisk;
  if (!warned_)
    std::fprintf(stderr, "espalier: %s; %s.\n", overflow_text().c_str(),
                 spills ? fmt::format("spilling to {}", spill_figures().directory).c_str()
                        : "going on over the bound");
  warned_ = true;
  if (spills)
    gate_.let_evict();
  else
    gate_.let_exceed();
  gate_.admit_held(now(), admitted);
  // What stays may be too much: then the next stall is the last.
  if (admitted.empty() && !spills) admitted.push_back(gate_.admit_over_bound(now()));
}

// Another process may be computing, or may wait for this one.
void HandleGate::tell_of_messages() {
  if (told_of_messages_) return;
  told_of_messages_ = true;
  std::fprintf(stderr,
               "espalier: nothing has run for %.0f s: %zu tasks wait for memory that "
               "messages to or from other processes hold.\n",
               kPatienceForMessages, gate_.held());
}

std::string HandleGate::overflow_text() const {
  const auto* const task = static_cast<const starpu_task*>(gate_.first_held());
  const Bytes booked = gate_.booked();
  const Bytes missing = gate_.needed_now() - booked;
  const std::string text = fmt::format(
      "the memory bound of {} (ESPALIER_MEMORY) cannot be kept: task \"{}\" "
      "needs {} more, and {} are held by data that ",
      exact_size(gate_.bound()), name_of(*task), exact_size(missing), exact_size(booked));
  if (gate_.evicts())
    return text +
           "the program keeps in memory (starpu_data_set_ooc_flag) or reduces "
           "(STARPU_REDUX): no disk helps";
  if (overtakes())
    return text + fmt::format(
                      "tasks before it wait for or are to work on: StarPU has given it "
                      "data that commute (STARPU_COMMUTE) before them. For that order {} "
                      "are needed; that of submission needs {} so far",
                      exact_size(booked + missing), exact_size(gate_.report().least));
  const Bytes least = gate_.report().least;
  if (!gate_.first_is_held() && least <= gate_.bound())
    return text + fmt::format(
                      "tasks before it are to work on, which wait for later ones or for "
                      "the program (tags, dependencies, what it has acquired). The order "
                      "of submission, which they do not follow, needs {} so far",
                      exact_size(least));
  const std::string outside =
      gate_.outside() == 0
          ? ""
          : fmt::format(" ({} of it allocated for no task that passed the gate)",
                        format_size(gate_.outside()));
  return text + "nothing submitted so far frees" + outside + ". " + needs_text();
}

// More may be submitted.
std::string HandleGate::needs_text() const {
  return fmt::format(
      "What has been submitted so far needs {}; the whole program needs that at least, "
      "and "
      "perhaps more",
      exact_size(gate_.report().least));
}

}  // namespace espalier::policy
