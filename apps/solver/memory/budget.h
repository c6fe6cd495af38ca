#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "espalier/model/error.h"
#include "solver/memory/address_space.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {

class Lease;

/// A lease that cannot be had.
struct LeaseRefused {
  Bytes budget = 0;      ///< of the process
  Bytes asked = 0;       ///< the least that would have done
  Bytes beside = 0;      ///< resident, but for what leases hold
  Bytes leased = 0;      ///< to others
  Bytes sufficient = 0;  ///< the least budget that would have done
  [[nodiscard]] std::string message() const;
};

/// The same, where there is no answer to give.
class BudgetExceeded : public MemoryLimit {
 public:
  explicit BudgetExceeded(const LeaseRefused& refused) : MemoryLimit(refused.message()) {}
};

/// A bound on the resident set of the process for all that works in it: whoever is about
/// to take memory takes a lease first. With
///
///   B       the budget
///   R       what is resident in the process
///   g_j     what lease j may take
///   h_j     what its holder has taken of it: resident, h_j <= g_j
///
/// a lease of x bytes is given out while
///
///   (R - sum h_j) + sum g_j + x  <=  B - 2 MiB.
///
/// So as long as holders keep to their leases, and nothing beside them grows without one,
/// R <= B. What holders have but do not tell (h_j too small) counts twice: leases are
/// refused then that could be had, and none is given that could not. What the program
/// itself takes between two leases is seen by the next. The 2 MiB are for what the system
/// counts late.
///
/// From any thread. A budget lives until its last lease has gone.
///
/// @par Test  Budget.*
class Budget : public std::enable_shared_from_this<Budget> {
 public:
  using Duration = std::chrono::duration<double>;

  /// @param bytes  may be resident in the process. @throws InvalidInput unless > 0
  [[nodiscard]] static std::shared_ptr<Budget> create(Bytes bytes);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;

  /// A lease of up to `most` bytes: all that is left where that is less, and no less than
  /// `least`.
  /// @param patience  to wait for others to give theirs back: only as long as they have
  ///                  any. Who holds leases that this one waits for waits in vain.
  [[nodiscard]] tl::expected<std::unique_ptr<Lease>, LeaseRefused> take(
      Bytes least, Bytes most, Duration patience = Duration(0));

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Bytes leased() const;
  /// What a lease could have now.
  [[nodiscard]] Bytes left() const;

 private:
  friend class Lease;
  explicit Budget(Bytes bytes) : bytes_(bytes) {}
  [[nodiscard]] Bytes leased_locked() const;
  [[nodiscard]] Bytes beside_locked() const;
  [[nodiscard]] Bytes held_locked() const;
  [[nodiscard]] Bytes left_locked() const;
  void give_back(const Lease& lease) noexcept;

  const Bytes bytes_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<const Lease*> leases_;
};

/// What may be taken of a budget, until it goes.
class Lease {
 public:
  ~Lease() { budget_->give_back(*this); }
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  /// Counts what is resident of it: told after pages have come, and as they go.
  [[nodiscard]] MemoryMeter& held() { return held_; }
  [[nodiscard]] const MemoryMeter& held() const { return held_; }
  /// The same at once: so many bytes.
  void hold(Bytes bytes) noexcept { held_.add(bytes - held_.now()); }

 private:
  friend class Budget;
  Lease(std::shared_ptr<Budget> budget, Bytes bytes)
      : budget_(std::move(budget)), bytes_(bytes) {}

  std::shared_ptr<Budget> budget_;
  Bytes bytes_;
  MemoryMeter held_;
};

}  // namespace espalier::solver
