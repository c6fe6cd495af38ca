// What nothing holds back, and counts: tasks that chose their worker, and data that
// StarPU allocates for no task of the gate's.

#include <cstdio>
#include <vector>

#include "policy/starpu/handle_gate.h"
#include "policy/starpu/handles.h"

namespace espalier::policy {

void HandleGate::allocated_outside(const void* block, std::size_t bytes) {
  const char* const other =
      starpu_worker_get_id() >= 0 ? policy::other_policy() : nullptr;
  const std::scoped_lock lock(mutex_);
  if (other != nullptr) tell_of_other_policy(other);
  // Where data are evicted workers also fetch them for each other. What tasks fetch that
  // chose their worker is booked for them, and theirs when they have ended.
  if (may_spill() || (!bypassing_.empty() && starpu_worker_get_id() >= 0))
    gate_.allocated(block, static_cast<Bytes>(bytes), false);
  else
    gate_.allocated_outside(block, static_cast<Bytes>(bytes));
  changed();
}

void HandleGate::tell_of_other_policy(const char* policy) {
  if (!other_policy_.empty()) return;
  other_policy_ = policy;
  if (!settings_.memory) return;
  std::fprintf(
      stderr,
      "espalier: a scheduling context has another policy (%s): what its tasks "
      "allocate counts, but nothing holds them back. Give it the policy espalier "
      "for the bound to be kept.\n",
      policy);
}

std::string HandleGate::other_policy() const {
  const std::scoped_lock lock(mutex_);
  return other_policy_;
}

// What it works on may have been allocated since it was submitted, and for others: the
// task has it now, so it stays where it is.
void HandleGate::look_for_data(std::unique_lock<BriefMutex>& lock,
                               const starpu_task& task, SubmissionGate::Op op) {
  if (!gate_.may_be_found(op)) return;
  lock.unlock();
  thread_local std::vector<DataAccess> places;
  places_of(task, places);
  lock.lock();
  gate_.found(op, places);
}

void HandleGate::bypasses(const starpu_task& task) {
  if (STARPU_TASK_GET_NBUFFERS(&task) == 0) return;
  std::unique_lock lock(mutex_);
  const SubmissionGate::Op op = gate_.find(&task);
  if (op == SubmissionGate::Op::kNone) return;
  look_for_data(lock, task, op);
  gate_.start(op);
  ++bypassed_;
  bypassing_.insert(&task);
  changed();
}

// Tasks of contexts with other policies, which no hook of this one sees, may free memory.
bool HandleGate::others_go_on(std::unique_lock<BriefMutex>& lock) const {
  if (other_policy_.empty()) return false;
  lock.unlock();
  const int ready = starpu_task_nready();  // what is held, too
  lock.lock();
  return ready > static_cast<std::int64_t>(gate_.held());
}

}  // namespace espalier::policy
