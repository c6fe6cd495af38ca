// Messages of StarPU-MPI in the order of submission.

#include "policy/starpu/handle_gate.h"
#include "policy/starpu/handles.h"

namespace espalier::policy {

namespace {

// Does nothing but have its datum allocated.
void make_room(void**, void*) {}

// @return false when no worker can execute it: then nothing is bounded anyway
bool submit_receiver(starpu_data_handle_t handle) {
  static starpu_codelet codelet = [] {
    starpu_codelet c{};
    c.cpu_funcs[0] = make_room;
    c.cpu_funcs_name[0] = "make_room";
    c.nbuffers = 1;
    c.modes[0] = STARPU_W;
    c.name = "receive";
    return c;
  }();
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->handles[0] = handle;
  if (starpu_task_submit(task) == 0) return true;
  task->destroy = 0;
  starpu_task_destroy(task);
  return false;
}

}  // namespace

void HandleGate::message_begins(starpu_data_handle_t handle, bool receives) {
  end_pending_frees();
  std::vector<DataAccess> data;
  const auto read = [&] {
    data.clear();
    if (const auto access = datum_of(handle)) data.push_back(*access);
    if (reduces_) add_copies(handle, data);
  };
  if (receives) {
    std::unique_lock lock = lock_with(data, read);
    if (data.empty()) return;
    const bool allocates = gate_.allocates(data.front());
    lock.unlock();
    if (allocates) submit_receiver(handle);
  }
  const std::unique_lock lock = lock_with(data, read);
  if (data.empty()) return;
  auto message = std::make_unique<Message>();
  message->op = gate_.submit_message(message.get(), data);
  application_waits_ = false;
  ++changes_;
  if (message->op != SubmissionGate::Op::kNone)
    messages_[handle].push_back(std::move(message));
}

void HandleGate::message_ended(starpu_data_handle_t handle) {
  end_pending_frees();
  const std::scoped_lock lock(mutex_);
  const auto found = messages_.find(handle);
  if (found == messages_.end()) return;
  // Messages of a handle that are under way together all read it: which of them is meant
  // makes no difference to what is in memory.
  gate_.end(found->second.front()->op);
  found->second.pop_front();
  if (found->second.empty()) messages_.erase(found);
  changed();
  if (gate_.holds()) room_ = true;  // StarPU-MPI's thread cannot queue tasks
}

}  // namespace espalier::policy
