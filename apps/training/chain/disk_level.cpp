#include "training/chain/disk_level.h"

#include <exception>
#include <utility>

#include "solver/starpu_tasks.h"

namespace espalier::training {

DiskLevel::DiskLevel(const std::string& directory, const Chain& chain, std::int64_t slots,
                     FirstError& errors)
    : errors_(errors),
      parts_(chain.parts),
      state_bytes_(chain.state_bytes()),
      file_(directory, checked_mul(state_bytes_, slots)) {}

DiskLevel::~DiskLevel() { wait(); }

void DiskLevel::store(std::int64_t slot, const StateBuffer& from) {
  ask(slot, from, false);
}
void DiskLevel::load(std::int64_t slot, const StateBuffer& to) { ask(slot, to, true); }

void DiskLevel::ask(std::int64_t slot, const StateBuffer& buffer, bool loads) {
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

void DiskLevel::acquired(void* transfer) noexcept {
  auto& wanted = *static_cast<Transfer*>(transfer);
  DiskLevel& self = *wanted.level;
  const Bytes offset = wanted.offset;
  {
    const std::scoped_lock lock(self.mutex_);
    wanted.acquired = true;
  }
  self.begin_acquired(offset);
}

// Hands the file what may go next at an offset, in the order of the calls.
void DiskLevel::begin_acquired(Bytes offset) noexcept {
  std::vector<starpu_data_handle_t> refused;
  {
    const std::scoped_lock lock(mutex_);
    auto& queue = asked_[offset];
    while (!queue.empty() && queue.front()->acquired) {
      if (!begin(*queue.front())) refused.push_back(queue.front()->handle);
      queue.pop_front();
    }
    if (queue.empty()) asked_.erase(offset);
  }
  for (const starpu_data_handle_t handle : refused) end(handle);
}

bool DiskLevel::begin(const Transfer& transfer) noexcept {
  const std::span data(transfer.data, static_cast<std::size_t>(transfer.bytes));
  const auto done = [this, handle = transfer.handle] { end(handle); };
  try {
    if (transfer.loads)
      file_.fetch(transfer.offset, data, done);
    else
      file_.write(transfer.offset, data, done);
    return true;
  } catch (...) {
    errors_.keep(std::current_exception());
    return false;
  }
}

void DiskLevel::end(starpu_data_handle_t handle) noexcept {
  if (file_.failed()) {
    try {
      file_.read(0, {});  // throws what failed
    } catch (...) {
      errors_.keep(std::current_exception());
    }
  }
  starpu_data_release_on_node(handle, STARPU_MAIN_RAM);
  const std::scoped_lock lock(mutex_);
  --pending_;
  done_.notify_all();
}

void DiskLevel::wait() {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [this] { return pending_ == 0; });
}

}  // namespace espalier::training
