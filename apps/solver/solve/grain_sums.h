#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "solver/solve/ancestor_rows.h"
#include "solver/solve/vectors.h"
#include "solver/symbolic/symbolic.h"
#include "solver/tree/row_strips.h"

namespace espalier::solver {

/// What grains of a tree (AssemblyTree::grains) do to rows beyond them, on the way up:
/// each sums up what its own fronts do, after what its children did, in a vector with an
/// entry for each row of its last front. So the sums are the same however grains are
/// grouped into nodes.
///
/// Grains come in order, one after the other, after children that others have seen to.
/// Vectors are on a stack: a grain's takes the place of its children's.
template <class T>
class GrainSums {
 public:
  /// Entries of the stack for one right-hand side.
  /// @par Cost  O(grains)
  [[nodiscard]] static std::int64_t entries(const Symbolic& symbolic,
                                            std::span<const IndexRange> grains);
  /// Rows of a grain's last front, at most.
  [[nodiscard]] static std::int64_t most_rows(const Symbolic& symbolic,
                                              std::span<const IndexRange> grains);

  /// @param b       right-hand sides
  /// @param stack   entries() for each of them, of any content; outlives this
  /// @param places  work space, most_rows(); outlives this
  GrainSums(const Symbolic& symbolic, const Vectors<T>& b, T* stack, std::int32_t* places)
      : symbolic_(symbolic), b_(b), stack_(stack), places_(places) {}

  /// A child of the grains to come, by its last front, and what it did to its rows.
  void add_child(std::int32_t front, const Vectors<T>& sums) {
    pending_.push_back({front, sums});
  }
  /// Adds what a grain's children did to its rows to b. @return where its own sums go,
  /// which have what the children did to rows beyond
  /// @param out  its vector, in place of one on the stack: nothing more comes of it here
  [[nodiscard]] AncestorRows<T> open(const IndexRange& grain,
                                     const std::optional<Vectors<T>>& out = {});

 private:
  struct Child {
    std::int32_t front;
    Vectors<T> sums;
    bool on_stack = false;
  };

  const Symbolic& symbolic_;
  Vectors<T> b_;
  T* stack_;
  std::int64_t top_ = 0;
  std::int32_t* places_;
  std::vector<Child> pending_;  // whose parents have not been opened
};

/// What a worker needs for one right-hand side beside a front's own vectors, at most over
/// runs of grains that it takes one after the other, of which the last one's sums go to
/// others.
template <class T>
struct GrainSizes {
  std::int64_t sums = 0, places = 0;  ///< entries of a stack, and of `places`

  void add(const Symbolic& symbolic, std::span<const IndexRange> grains) {
    if (grains.size() > 1)
      sums = std::max(sums,
                      GrainSums<T>::entries(symbolic, grains.first(grains.size() - 1)));
    places = std::max(places, GrainSums<T>::most_rows(symbolic, grains));
  }
};

}  // namespace espalier::solver
