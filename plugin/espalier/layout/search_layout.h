#pragma once

#include <cstdint>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"

namespace espalier {

/// The search for a layout of one component (components.h), in two calls so that all
/// components have a layout before one of them is searched for long.
class SearchLayout {
 public:
  SearchLayout(Pieces pieces, std::uint64_t seed);

  /// One sweep, and nothing more if that is the least.
  void begin();

  /// Until the capacity is `goal` or the lower bound, or the budget is spent: joined
  /// pieces, orders, the core of large instances, exact search and ejections of small
  /// ones, and then all again with other seeds and more steps.
  void search(Bytes goal, LayoutBudget& budget);

  [[nodiscard]] const std::vector<Bytes>& offsets() const { return offsets_; }
  [[nodiscard]] Bytes capacity_bytes() const { return capacity_; }
  [[nodiscard]] Bytes lower_bound_bytes() const { return lower_bound_; }

 private:
  [[nodiscard]] bool done() const {
    return capacity_ <= goal_ || capacity_ <= lower_bound_;
  }
  bool consider(std::vector<Bytes> offsets);
  void try_joined(LayoutBudget& budget);
  void search_joined(LayoutBudget& budget);
  void try_rises(std::uint64_t round, LayoutBudget& budget);
  void try_orders(std::uint64_t round, LayoutBudget& budget);
  void try_cores(std::uint64_t round, LayoutBudget& budget);
  void try_core(double share, Bytes capacity, std::uint64_t round, LayoutBudget& budget);
  void try_exact(std::uint64_t round, LayoutBudget& budget);
  void try_ejections(std::uint64_t round, LayoutBudget& budget);

  Pieces pieces_;
  std::uint64_t seed_;
  Bytes goal_ = 0, capacity_ = 0, lower_bound_ = 0, unit_ = 1;
  std::vector<Bytes> offsets_;
};

}  // namespace espalier
