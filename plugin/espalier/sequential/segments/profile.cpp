#include "espalier/sequential/segments/profile.h"

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {

void append(Profile& profile, const Segment& segment, std::span<TaskId> next) {
  Segment s = segment;
  while (!profile.empty() && joins(profile.back(), s)) {
    s = concat(profile.back(), s, next);
    profile.pop_back();
  }
  profile.push_back(s);
}

Profile canon(std::span<const Segment> sequence, std::span<TaskId> next) {
  Profile result;
  for (const Segment& segment : sequence) append(result, segment, next);
  return result;
}

Profile series(Profile a, const Profile& b, std::span<TaskId> next) {
  for (const Segment& segment : b) append(a, segment, next);
  return a;
}

Profile parallel(std::span<const Profile> profiles, std::span<TaskId> next) {
  Profile all;
  for (const Profile& profile : profiles) {
    all.insert(all.end(), profile.begin(), profile.end());
  }
  // Ranks increase strictly within a profile, so that none is put out of order.
  std::stable_sort(all.begin(), all.end(), [](const Segment& a, const Segment& b) {
    return a.rank() < b.rank();
  });
  return canon(all, next);
}

Segment whole(const Profile& profile, std::span<TaskId> next) {
  ESPALIER_ASSERT(!profile.empty(), "an empty profile is no segment");
  Segment all = profile.front();
  for (const Segment& segment : std::span(profile).subspan(1)) {
    all = concat(all, segment, next);
  }
  return all;
}

}  // namespace espalier
