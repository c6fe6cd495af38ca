/// Small rules about numbers that many planners share.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>

namespace espalier {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A number that is known not to be negative, as an index.
constexpr std::size_t at(std::int64_t number) { return static_cast<std::size_t>(number); }

}  // namespace espalier
