#pragma once

#include <span>
#include <vector>

#include "espalier/sequential/segments/segment.h"

namespace espalier {

/// What an order of some tasks looks like from outside: segments that run in this order
/// and between which other tasks may run. It is canonical when no neighbours join
/// (segment.h), so that ranks increase strictly: first segments that free memory, hill
/// after hill higher and valley after valley lower, down to the least memory of all; then
/// segments that add, hill after hill lower and valley after valley higher.
///
///   memory |      /\    the three operations:
///          | /\  /  \     canon     any sequence, made canonical
///          |/  \/    \    series    one profile after another
///          |          \   parallel  independent profiles, merged by rank
///
/// Any order can be delayed and hurried to its canonical profile: run in step with it,
/// the canonical one is never higher [AK78, MS79]. So trees, series-parallel graphs with
/// sizes on arcs, and every block that has been put into an order, are profiles, and the
/// three operations keep them best of all (dominant). Where profiles are large, profile
/// heaps (profile_heaps.h) do the same in O(log n) a step.
///
/// All functions take `next`, the links of the ropes, long enough for every task.
///
/// @par Test  Profile.DominatesEveryOrder
using Profile = std::vector<Segment>;

/// Appends to a canonical profile and makes it canonical again. O(1) amortised.
void append(Profile& profile, const Segment& segment, std::span<TaskId> next);

/// Any sequence of segments, made canonical. O(n).
[[nodiscard]] Profile canon(std::span<const Segment> sequence, std::span<TaskId> next);

/// `a`, then `b`. O(|a| + |b|).
[[nodiscard]] Profile series(Profile a, const Profile& b, std::span<TaskId> next);

/// Independent canonical profiles side by side. Of equal ranks the earlier profile goes
/// first. O(n log n).
[[nodiscard]] Profile parallel(std::span<const Profile> profiles, std::span<TaskId> next);

/// A profile that is not empty, as one segment. O(n).
[[nodiscard]] Segment whole(const Profile& profile, std::span<TaskId> next);

}  // namespace espalier
