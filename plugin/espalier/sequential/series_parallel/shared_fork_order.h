#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "espalier/sequential/series_parallel/shared_fork.h"

namespace espalier {

/// The nodes of a folded block in an order, and what is known of its peak, both relative
/// to the level at which the block starts (shared data included in that level).
struct SharedForkOrder {
  std::vector<ForkNodeId> order;
  Bytes peak = 0;
  Bytes lower_bound = 0;   ///< no order of the block has a lower peak
  std::size_t checks = 0;  ///< that were made
};

/// Order of least peak of a shared fork, for few readers and chains of any length: its
/// time is exponential in the number d of readers only, 2^O(d log d).
///
/// The block is cut into chains: one starts at every reader and wherever chains meet, at
/// most 2 d − 1 in all, and chains that nothing else depends on may begin at any time.
/// Nodes of a chain first bring memory down, to its least z, and then up. Given the order
/// of the starts, the time between two of them is a phase, in which shared data are
/// fixed; whether a bound B is enough is then decided in polynomial time:
///
///   D(c, j)  how far chain c has come down by the end of phase j: it goes down whenever
///            the others leave room
///   E(c, j)  how far it must have come up by then: all of it in the phase before the
///            start that needs its end, and in each earlier phase what cannot be undone
///            later, going back whenever the others leave room
///
/// Each is computed with the other given, and both again until they stay: E only grows
/// and D only shrinks. B is not enough when a chain has to come up in a phase in which it
/// has not reached z, or before it starts, or when a start has no room.
///
/// The orders of starts are searched depth first, a beginning that B is not enough for is
/// dropped, and B is found by bisection. A table by sets of chains that have started,
/// each as low as it ever is, drops beginnings sooner. For a pumpkin, d chains between
/// two tasks, the table alone is often the answer: it errs only when a chain must come up
/// early or is kept from coming down. Its worst case is d! orders all the same.
///
/// @param most_checks  of beginnings; after that the best order found, and the bound.
///                     With more than 20 starts nothing is searched: last_reader_order()
/// @par Cost  of a check: O(d s) for s nodes, as often as D and E change; 2^starts bytes
/// @par Test  SharedForkOrder.HasTheLeastPeak
[[nodiscard]] SharedForkOrder shared_fork_order(const FoldedBlock& block,
                                                std::size_t most_checks);

}  // namespace espalier
