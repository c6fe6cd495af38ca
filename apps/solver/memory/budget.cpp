#include "solver/memory/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <set>

#include "espalier/model/clock.h"
#include "espalier/model/exact_size.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace {

// Between two looks at what is resident, while waiting.
constexpr auto kLook = std::chrono::milliseconds(20);
// A reading may fall between pages that go and the holder's word of it: then too little
// seems to be beside the leases.
constexpr int kReadings = 4;

}  // namespace

std::string LeaseRefused::message() const {
  const auto both = size_with_bytes;
  return fmt::format(
      "{} are not left of a budget of {}: {} are resident beside all leases and {} are "
      "leased to others; a budget of {} would do",
      both(asked), both(budget), format_size(beside), format_size(leased),
      both(sufficient));
}

// All but the bytes under the mutex.
struct __attribute__((visibility("hidden"))) Budget::State {
  const Bytes bytes;
  mutable std::mutex mutex = {};
  std::condition_variable changed = {};
  std::set<const Lease*> leases = {};

  [[nodiscard]] Bytes leased() const {
    Bytes sum = 0;
    for (const Lease* lease : leases) sum = checked_add(sum, lease->bytes());
    return sum;
  }
  [[nodiscard]] Bytes held() const {
    Bytes sum = 0;
    for (const Lease* lease : leases) sum += lease->held().now();
    return sum;
  }
  [[nodiscard]] Bytes beside() const {
    Bytes most = 0;
    for (int reading = 0; reading < kReadings; ++reading) {
      const Bytes before = held();
      const Bytes resident = resident_bytes();
      most = std::max(most, resident - std::min(before, held()));
    }
    return most;
  }
  [[nodiscard]] Bytes left() const {
    return bytes - counted_late() - beside() - leased();
  }
};

Budget::Budget(Bytes bytes) : state_(new State{bytes}) {}
Budget::~Budget() = default;

Bytes Budget::bytes() const { return state_->bytes; }

std::shared_ptr<Budget> Budget::create(Bytes bytes) {
  if (bytes <= 0) throw InvalidInput(fmt::format("a budget of {} bytes", bytes));
  return std::shared_ptr<Budget>(new Budget(bytes));
}

Bytes Budget::leased() const {
  const std::scoped_lock lock(state_->mutex);
  return state_->leased();
}

Bytes Budget::left() const {
  const std::scoped_lock lock(state_->mutex);
  return std::max<Bytes>(0, state_->left());
}

tl::expected<std::unique_ptr<Lease>, LeaseRefused> Budget::take(Bytes least, Bytes most,
                                                                Duration patience) {
  if (least < 0 || most < least)
    throw InvalidInput(fmt::format("a lease of {} to {} bytes", least, most));
  const auto end = Clock::now() + patience;
  trim_heap();  // what the heap holds in vain is nobody's
  std::unique_lock lock(state_->mutex);
  for (;;) {
    const Bytes left = state_->left();
    if (left >= least) {
      std::unique_ptr<Lease> lease(new Lease(shared_from_this(), std::min(left, most)));
      state_->leases.insert(lease.get());
      return lease;
    }
    if (state_->leases.empty() || Clock::now() >= end) break;
    state_->changed.wait_for(lock, kLook);
  }
  LeaseRefused refused{.budget = state_->bytes,
                       .asked = least,
                       .beside = state_->beside(),
                       .leased = state_->leased()};
  refused.sufficient = checked_add(checked_add(least, counted_late()),
                                   checked_add(refused.beside, refused.leased));
  return tl::make_unexpected(refused);
}

void Budget::give_back(const Lease& lease) noexcept {
  const std::scoped_lock lock(state_->mutex);
  state_->leases.erase(&lease);
  state_->changed.notify_all();
}

}  // namespace espalier::solver
