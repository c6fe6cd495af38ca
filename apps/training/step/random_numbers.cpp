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
                 std::int64_t first) {
  std::mt19937_64 random(seed);
  random.discard(static_cast<std::uint64_t>(first - first % 2));
  const auto next = [&random] {
    return (static_cast<double>(random() >> 11) + 0.5) * 0x1p-53;
  };
  // In pairs; of the first one perhaps the second alone.
  const auto put = [&values, first](std::int64_t i, double value) {
    if (i >= first && i - first < std::ssize(values))
      values[static_cast<std::size_t>(i - first)] = static_cast<float>(value);
  };
  for (std::int64_t i = first - first % 2; i < first + std::ssize(values); i += 2) {
    const double radius = deviation * std::sqrt(-2 * std::log(next()));
    const double angle = 2 * std::numbers::pi * next();
    put(i, radius * std::cos(angle));
    put(i + 1, radius * std::sin(angle));
  }
}

void fill_uniform(std::uint64_t seed, std::int64_t limit,
                  std::span<std::int64_t> values) {
  std::mt19937_64 random(seed);
  for (std::int64_t& value : values)
    value = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(limit));
}

}  // namespace espalier::training
