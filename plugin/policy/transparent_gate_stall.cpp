// When nothing goes on, and when a bound cannot be kept.

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "policy/clock.h"
#include "policy/handles.h"
#include "policy/transparent_gate.h"

namespace espalier::policy {

namespace {

// How long nothing may happen, with tasks held and none running, until the gate gives up
// waiting for the program, which may be about to submit what frees memory.
constexpr Seconds kPatience = 5;
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
constexpr Seconds kSettled = 0.01;
constexpr auto kWatchInterval = std::chrono::milliseconds(10);

}  // namespace

void TransparentGate::refuse_if_too_large(std::unique_lock<BriefMutex>& lock,
                                          DataGate::Op op, const starpu_task& task) {
  const std::string text = fmt::format(
      "espalier: the memory bound of {} (ESPALIER_MEMORY) cannot be kept: task \"{}\" "
      "works on {} at once. At least that much is needed",
      format_size(gate_.bound()), name_of(task), format_size(gate_.footprint(op)));
  // No disk helps: a task needs all its data in memory.
  if (settings_.on_overflow != Overflow::kWarn) {
    lock.unlock();
    stop(text);
  }
  if (!warned_) std::fprintf(stderr, "%s; going on over the bound.\n", text.c_str());
  warned_ = true;
}

Seconds TransparentGate::patience() const {
  if (gate_.awaits_frees()) return kPatienceForFrees;
  if (!application_waits_) return kPatience;
  return gate_.first_is_held() ? kPatienceWhenClear : kPatienceWhenWaiting;
}

// While tasks are held: notices when nothing goes on, and serves where workers sleep.
void TransparentGate::watch() {
  std::unique_lock lock(mutex_);
  while (!ending_) {
    watched_.wait(lock, [this] { return ending_ || gate_.holds(); });
    std::uint64_t seen = changes_;
    Seconds since = now();
    while (!ending_ && gate_.holds()) {
      watched_.wait_for(lock, kWatchInterval);
      settle_locked(nullptr, now() - kSettled);
      if (room_) {
        lock.unlock();
        place_all();
        lock.lock();
      }
      if (changes_ != seen || throttle_.active() > 0 ||
          (!gate_.stalled() && !gate_.awaits_message())) {
        seen = changes_;
        since = now();
        continue;
      }
      const Seconds still = now() - since;
      if (gate_.awaits_message()) {
        if (still > kPatienceForMessages) tell_of_messages();
      } else if (still > patience()) {
        act_on_stall(lock, still);
      }
    }
  }
}

// Something must be let in. First what fits: the order of submission may be none that can
// be followed, as with tags whose predecessor comes later.
void TransparentGate::act_on_stall(std::unique_lock<BriefMutex>& lock, Seconds still) {
  std::vector<void*> admitted;
  if (void* const task = gate_.admit_unproven(now())) {
    admitted.push_back(task);
  } else if (!warned_ && still < kPatience) {
    // That the program waits is known of its start alone: it may have waited for one
    // task, and be working.
    return;
  } else if (settings_.on_overflow == Overflow::kAbort) {
    const std::string text = overflow_text();
    lock.unlock();
    stop(text + ". ESPALIER_ON_OVERFLOW=warn goes on over the bound, =disk spills");
  } else {
    const bool to_disk = settings_.on_overflow == Overflow::kDisk;
    if (!warned_)
      std::fprintf(stderr, "%s; %s.\n", overflow_text().c_str(),
                   to_disk
                       ? fmt::format("spilling to {}", settings_.spill_directory).c_str()
                       : "going on over the bound");
    warned_ = true;
    if (to_disk) gate_.let_evict();
    gate_.admit_held(now(), admitted);
    if (admitted.empty()) admitted.push_back(gate_.admit_over_bound(now()));
  }
  changed();
  lock.unlock();
  hand_on(admitted);
  lock.lock();
}

// Another process may be computing, or may wait for this one.
void TransparentGate::tell_of_messages() {
  if (told_of_messages_) return;
  told_of_messages_ = true;
  std::fprintf(stderr,
               "espalier: nothing has run for %.0f s: %zu tasks wait for memory that "
               "messages to or from other processes hold.\n",
               kPatienceForMessages, gate_.held());
}

std::string TransparentGate::overflow_text() const {
  const auto* const task = static_cast<const starpu_task*>(gate_.first_held());
  const DataGateReport report = gate_.report();
  return fmt::format(
      "espalier: the memory bound of {} (ESPALIER_MEMORY) cannot be kept: task \"{}\" "
      "needs {} more, and {} are held by data that nothing submitted so far frees. What "
      "has been submitted needs at least {}",
      format_size(gate_.bound()), name_of(*task),
      format_size(gate_.needed_now() - report.booked), format_size(report.booked),
      format_size(report.least));
}

void TransparentGate::stop(const std::string& text) {
  std::fprintf(stderr, "%s.\n", text.c_str());
  last_words_();
  std::abort();
}

}  // namespace espalier::policy
