#include "training/chain/slot_level.h"

#include <exception>
#include <utility>

#include "espalier/model/error.h"
#include "solver/runtime/starpu_tasks.h"

namespace espalier::training {

SlotLevel::SlotLevel(SlotStore& where, const Chain& chain, FirstError& errors)
    : where_(where),
      errors_(errors),
      parts_(chain.parts),
      state_bytes_(chain.state_bytes()) {}

SlotLevel::~SlotLevel() { wait(); }

void SlotLevel::store(std::int64_t slot, const StateBuffer& from) {
  ask(slot, from, false);
}
void SlotLevel::load(std::int64_t slot, const StateBuffer& to) { ask(slot, to, true); }

void SlotLevel::ask(std::int64_t slot, const StateBuffer& buffer, bool loads) {
  Bytes offset = slot * state_bytes_;
  std::byte* data = buffer.data;
  for (std::size_t part = 0; part < parts_.size(); ++part) {
    const Bytes bytes = parts_[part];
    auto transfer = std::make_unique<Transfer>(
        Transfer{this, buffer.parts[part], data, offset, bytes, loads});
    Transfer* const wanted = transfer.get();
    {
      const std::scoped_lock lock(mutex_);
      asked_[offset].push_back(std::move(transfer));
      ++pending_;
    }
    const int status =
        starpu_data_acquire_on_node_cb(buffer.parts[part], STARPU_MAIN_RAM,
                                       loads ? STARPU_W : STARPU_R, acquired, wanted);
    if (status != 0) {
      const std::scoped_lock lock(mutex_);
      asked_[offset].pop_back();
      --pending_;
    }
    solver::check_submission(status);
    offset += bytes;
    data += bytes;
  }
}

void SlotLevel::acquired(void* transfer) noexcept {
  auto& wanted = *static_cast<Transfer*>(transfer);
  SlotLevel& self = *wanted.level;
  const Bytes offset = wanted.offset;
  {
    const std::scoped_lock lock(self.mutex_);
    wanted.acquired = true;
  }
  self.begin_next(offset);
}

// Begins what is first in line at an offset, if its buffer has been acquired. No lock is
// held meanwhile, since the store has locks of its own.
void SlotLevel::begin_next(Bytes offset) noexcept {
  const Transfer* next = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const auto queue = asked_.find(offset);
    if (queue == asked_.end()) return;
    Transfer& first = *queue->second.front();
    if (!first.acquired || first.begun) return;
    first.begun = true;
    next = &first;
  }
  if (!begin(*next)) end(offset);
}

bool SlotLevel::begin(const Transfer& transfer) noexcept {
  try {
    const std::span data(transfer.data, static_cast<std::size_t>(transfer.bytes));
    auto done = [this, offset = transfer.offset] { end(offset); };
    if (transfer.loads)
      where_.fetch(transfer.offset, data, std::move(done));
    else
      where_.write(transfer.offset, data, std::move(done));
    return true;
  } catch (...) {
    errors_.keep(std::current_exception());
    return false;
  }
}

// What is first in line at an offset is done or given up: its buffer goes back to the
// tasks, and the next may begin.
void SlotLevel::end(Bytes offset) noexcept {
  try {
    where_.check();
  } catch (...) {
    errors_.keep(std::current_exception());
  }
  starpu_data_handle_t handle = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const auto queue = asked_.find(offset);
    handle = queue->second.front()->handle;
    queue->second.pop_front();
    if (queue->second.empty()) asked_.erase(queue);
  }
  starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
  begin_next(offset);
  const std::scoped_lock lock(mutex_);
  --pending_;
  done_.notify_all();
}

void SlotLevel::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return pending_ == 0; });
}

}  // namespace espalier::training
