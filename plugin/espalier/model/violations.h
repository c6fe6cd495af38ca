/// What validators say.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace espalier {

inline constexpr std::size_t kMostViolations = 10;

/// What is wrong, a sentence each, naming task and values; the first kMostViolations at
/// most. Empty: valid.
using Violations = std::vector<std::string>;

/// One more, if there is room.
inline void complain(Violations& violations, std::string sentence) {
  if (violations.size() < kMostViolations) violations.push_back(std::move(sentence));
}

}  // namespace espalier
