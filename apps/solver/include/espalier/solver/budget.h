#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "espalier/solver/export.h"

namespace espalier::solver {

/// The system gives no more memory: a limit of the process is in the way.
class ESPALIER_SOLVER_EXPORT MemoryLimit : public Error {
 public:
  using Error::Error;
};

class Lease;

/// A lease that cannot be had.
struct ESPALIER_SOLVER_EXPORT LeaseRefused {
  Bytes budget = 0;      ///< of the process
  Bytes asked = 0;       ///< the least that would have done
  Bytes beside = 0;      ///< resident, but for what leases hold
  Bytes leased = 0;      ///< to others
  Bytes sufficient = 0;  ///< the least budget that would have done
  [[nodiscard]] std::string message() const;
};

/// The same, where there is no answer to give.
class ESPALIER_SOLVER_EXPORT BudgetExceeded : public MemoryLimit {
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
///   (R - sum h_j) + sum g_j + x  <=  B - late.
///
/// So as long as holders keep to their leases, and nothing beside them grows without one,
/// R <= B. What holders have but do not tell (h_j too small) counts twice: leases are
/// refused then that could be had, and none is given that could not. What the program
/// itself takes between two leases is seen by the next. `late` is what the system counts
/// late: 2 MiB, and on more than 16 processors twice their number squared, in pages.
///
/// From any thread. A budget lives until its last lease has gone.
///
/// @par Test  Budget.*
class ESPALIER_SOLVER_EXPORT Budget : public std::enable_shared_from_this<Budget> {
 public:
  using Duration = std::chrono::duration<double>;

  /// @param bytes  may be resident in the process. @throws InvalidInput unless > 0
  [[nodiscard]] static std::shared_ptr<Budget> create(Bytes bytes);
  Budget(const Budget&) = delete;
  Budget& operator=(const Budget&) = delete;
  ~Budget();

  /// A lease, for those behind the interface, of up to `most` bytes: all that is left
  /// where that is less, and no less than `least`.
  /// @param patience  to wait for others to give theirs back: only as long as they have
  ///                  any. Who holds leases that this one waits for waits in vain.
  [[nodiscard]] tl::expected<std::unique_ptr<Lease>, LeaseRefused> take(
      Bytes least, Bytes most, Duration patience = Duration(0));

  [[nodiscard]] Bytes bytes() const;
  [[nodiscard]] Bytes leased() const;
  /// What a lease could have now.
  [[nodiscard]] Bytes left() const;

 private:
  friend class Lease;
  struct State;
  explicit Budget(Bytes bytes);
  void give_back(const Lease& lease) noexcept;

  std::unique_ptr<State> state_;
};

}  // namespace espalier::solver
