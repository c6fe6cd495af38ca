#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/sequential/downsets/downset_block.h"
#include "espalier/sequential/segments/profile_heaps.h"

namespace espalier {

/// A run of a shared fork, and a node of a folded one.
enum class RunId : std::int32_t {};
enum class ForkNodeId : std::int32_t {};

inline constexpr RunId kNoRun{-1};
inline constexpr ForkNodeId kNoForkNode{-1};

/// Data in memory when a block starts, which nothing outside reads or keeps.
template <IdType Reader>
struct SharedDatum {
  Bytes size = 0;
  std::vector<Reader> readers;  ///< each once
};

/// What lies between a task u and the task t where all that follows u meets again, when
/// everything further inside is in order already: an in-forest of runs. Every run has one
/// follower, t included, and all that makes memory depend on the order are data of u that
/// several runs read: each is in memory until its last reader has run.
///
///   u -> a -> c -> t     u's datum is read by a, b and e, and any of them may be last
///   u -> b -> c          c follows a and b
///   u -> e -> t
///
/// The rest touches the block at u and t only, so the block may be replaced by the one
/// order of its runs that dominates all others (dominant_schedule.h).
struct SharedFork {
  IdVector<RunId, Segment> runs;    ///< net without the shared data
  IdVector<RunId, RunId> follower;  ///< kNoRun: t
  std::vector<SharedDatum<RunId>> shared;
};

/// A shared fork made smaller, to the same dominant order: the net of what is read last
/// by a known run is charged to that run; runs without a reader of shared data below them
/// are put into order by profiles, and chains of runs between readers joined. What is
/// left are nodes, and either a profile (no data with an open last reader) or a search.
struct FoldedBlock {
  Profile nodes;                                          ///< by ForkNodeId
  std::vector<std::pair<ForkNodeId, ForkNodeId>> before;  ///< (a, b): a before b
  std::vector<SharedDatum<ForkNodeId>> shared;
  [[nodiscard]] bool is_chain() const { return shared.empty(); }
};

/// @param profiles  of all tasks: used for the work, and empty again afterwards
/// @return when is_chain(), nodes are the dominant order, canonical
/// @par Cost  O(n log n + n d) for n runs and d data
[[nodiscard]] FoldedBlock fold(SharedFork block, ProfileHeaps& profiles);

/// How many downsets the nodes have, at most `limit`.
[[nodiscard]] std::size_t downsets(const FoldedBlock& block, std::size_t limit);

/// The nodes in an order that respects `before`, by a rule that need not find the best:
/// all shared data are charged to the readers that come last in the order found before,
/// which makes the block a forest with a known best order, and so on while that helps.
[[nodiscard]] std::vector<ForkNodeId> last_reader_order(const FoldedBlock& block);

/// The nodes in an order that respects `before`, as a canonical profile: each datum goes
/// with its last reader.
[[nodiscard]] Profile profile_of(const FoldedBlock& block,
                                 std::span<const ForkNodeId> order,
                                 std::span<TaskId> next);

/// The folded block as downset_block.h has it: levels differ by a constant.
/// @throws OverflowError when its sizes are too large to be added up
[[nodiscard]] DownsetBlock downset_block_of(const FoldedBlock& block);

}  // namespace espalier
