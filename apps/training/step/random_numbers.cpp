#include "training/step/random_numbers.h"

#include <cmath>
#include <numbers>
#include <random>

namespace espalier::training {

std::uint64_t seed_of(std::uint64_t seed, std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U ^ seed;  // FNV-1a
  for (const char each : name)
    hash = (hash ^ static_cast<unsigned char>(each)) * 0x100000001b3U;
  return hash;
}

// By Box and Muller: the library's distributions differ between implementations.
void fill_normal(std::uint64_t seed, double deviation, std::span<float> values,
                 std::int64_t first, const ElementRuns& runs) {
  std::mt19937_64 random(seed);
  const auto next = [&random] {
    return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
  };
  std::int64_t drawn = 0;  // numbers: two for two values
  double radius = 0, angle = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::int64_t at = runs.place(first + static_cast<std::int64_t>(i));
    const std::int64_t pair = at - at % 2;
    if (pair >= drawn) {
      random.discard(static_cast<std::uint64_t>(pair - drawn));
      radius = deviation * std::sqrt(-2 * std::log(next()));
      angle = 2 * std::numbers::pi * next();
      drawn = pair + 2;
    }
    values[i] =
        static_cast<float>(radius * (at % 2 == 0 ? std::cos(angle) : std::sin(angle)));
  }
}

void fill_uniform(std::uint64_t seed, std::int64_t limit,
                  std::span<std::int64_t> values) {
  std::mt19937_64 random(seed);
  for (std::int64_t& value : values)
    value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

}  // namespace espalier::training
