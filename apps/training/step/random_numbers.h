#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "training/operators/element_runs.h"

namespace espalier::training {

/// A seed for what has this name.
[[nodiscard]] std::uint64_t seed_of(std::uint64_t seed, std::string_view name);

/// Normally distributed numbers of mean 0, the same on every machine.
/// @param first  values before it are left out
/// @param runs   of the values of a whole only these; `first` counts them
void fill_normal(std::uint64_t seed, double deviation, std::span<float> values,
                 std::int64_t first = 0, const ElementRuns& runs = {});
/// Whole numbers of [0, limit).
void fill_uniform(std::uint64_t seed, std::int64_t limit, std::span<std::int64_t> values);

}  // namespace espalier::training
