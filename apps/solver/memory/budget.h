#pragma once

#include <memory>
#include <utility>

#include "espalier/solver/budget.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {

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
