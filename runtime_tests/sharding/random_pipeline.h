#pragma once

#include <algorithm>
#include <optional>
#include <ostream>
#include <random>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// A question about a pipeline, for tests.
struct Instance {
  std::vector<PipelineChunk> chunks;
  int m = 1;
  Nanoseconds transfer = 0;
  std::optional<Bytes> bound;
  [[nodiscard]] Pipeline pipeline() const { return Pipeline(chunks, m, transfer); }
};

inline std::ostream& operator<<(std::ostream& out, const Instance& instance) {
  for (const PipelineChunk& c : instance.chunks)
    out << "{" << c.device << ", " << c.forward << ", " << c.backward << ", " << c.weight
        << ", " << c.until_backward << ", " << c.until_weight << "} ";
  return out << "m " << instance.m << ", transfer " << instance.transfer << ", bound "
             << instance.bound.value_or(-1);
}

/// p devices and so many chunks, some of which share a device; small times and sizes, and
/// mostly a bound that holds one micro-batch.
inline Instance random_instance(std::mt19937& random, int p, int chunks, int m) {
  const auto upto = [&](int most) { return static_cast<int>(random() % (most + 1u)); };
  Instance instance;
  std::vector<Bytes> least(static_cast<std::size_t>(p), 0);
  for (int c = 0; c < chunks; ++c) {
    const int device = c < p ? c : upto(p - 1);
    instance.chunks.push_back(
        {device, 1 + upto(3), 1 + upto(3), upto(3), upto(2), upto(2)});
    const PipelineChunk& chunk = instance.chunks.back();
    least[static_cast<std::size_t>(device)] += chunk.until_backward + chunk.until_weight;
  }
  instance.m = m;
  instance.transfer = upto(1);
  if (upto(3) > 0)
    instance.bound = *std::max_element(least.begin(), least.end()) + upto(4);
  return instance;
}

}  // namespace espalier
