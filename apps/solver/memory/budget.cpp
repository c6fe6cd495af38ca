#include "solver/memory/budget.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/clock.h"
#include "solver/memory/process_memory.h"

namespace espalier::solver {
namespace {

// The system's counts of resident pages lag by some pages a thread.
constexpr Bytes kCountedLate = Bytes{2} << 20;
// Between two looks at what is resident, while waiting.
constexpr auto kLook = std::chrono::milliseconds(20);
// A reading may fall between pages that go and the holder's word of it: then too little
// seems to be beside the leases.
constexpr int kReadings = 4;

}  // namespace

std::string LeaseRefused::message() const {
  const auto both = [](Bytes bytes) {
    return fmt::format("{} ({} bytes)", format_size(bytes), bytes);
  };
  return fmt::format(
      "{} are not left of a budget of {}: {} are resident beside all leases and {} are "
      "leased to others; a budget of {} would do",
      both(asked), both(budget), format_size(beside), format_size(leased),
      both(sufficient));
}

std::shared_ptr<Budget> Budget::create(Bytes bytes) {
  if (bytes <= 0) throw InvalidInput(fmt::format("a budget of {} bytes", bytes));
  return std::shared_ptr<Budget>(new Budget(bytes));
}

Bytes Budget::leased_locked() const {
  Bytes sum = 0;
  for (const Lease* lease : leases_) sum = checked_add(sum, lease->bytes());
  return sum;
}

Bytes Budget::held_locked() const {
  Bytes sum = 0;
  for (const Lease* lease : leases_) sum += lease->held().now();
  return sum;
}

Bytes Budget::beside_locked() const {
  Bytes most = 0;
  for (int reading = 0; reading < kReadings; ++reading) {
    const Bytes held = held_locked();
    const Bytes resident = resident_bytes();
    most = std::max(most, resident - std::min(held, held_locked()));
  }
  return most;
}

Bytes Budget::left_locked() const {
  return bytes_ - kCountedLate - beside_locked() - leased_locked();
}

Bytes Budget::leased() const {
  const std::scoped_lock lock(mutex_);
  return leased_locked();
}

Bytes Budget::left() const {
  const std::scoped_lock lock(mutex_);
  return std::max<Bytes>(0, left_locked());
}

tl::expected<std::unique_ptr<Lease>, LeaseRefused> Budget::take(Bytes least, Bytes most,
                                                                Duration patience) {
  if (least < 0 || most < least)
    throw InvalidInput(fmt::format("a lease of {} to {} bytes", least, most));
  const auto end = Clock::now() + patience;
  trim_heap();  // what the heap holds in vain is nobody's
  std::unique_lock lock(mutex_);
  for (;;) {
    const Bytes left = left_locked();
    if (left >= least) {
      std::unique_ptr<Lease> lease(new Lease(shared_from_this(), std::min(left, most)));
      leases_.insert(lease.get());
      return lease;
    }
    if (leases_.empty() || Clock::now() >= end) break;
    changed_.wait_for(lock, kLook);
  }
  LeaseRefused refused{.budget = bytes_,
                       .asked = least,
                       .beside = beside_locked(),
                       .leased = leased_locked()};
  refused.sufficient = checked_add(checked_add(least, kCountedLate),
                                   checked_add(refused.beside, refused.leased));
  return tl::make_unexpected(refused);
}

void Budget::give_back(const Lease& lease) noexcept {
  const std::scoped_lock lock(mutex_);
  leases_.erase(&lease);
  changed_.notify_all();
}

}  // namespace espalier::solver
