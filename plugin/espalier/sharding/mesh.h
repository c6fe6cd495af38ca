#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "espalier/sharding/collectives.h"

namespace espalier {

/// Devices along one direction of a grid, and what joins them.
struct MeshAxis {
  std::int32_t devices = 1;
  Link link = {.latency = 5e-6, .bandwidth = 1e11};
};
struct Mesh {
  std::vector<MeshAxis> axes;
  [[nodiscard]] std::int64_t devices() const;
};

/// "8x8", "16", "2x4x4". @throws InvalidInput naming what is no such grid, is larger than
/// 2^20 devices, or has more than four axes that are longer than one
[[nodiscard]] Mesh parse_mesh(std::string_view text);

}  // namespace espalier
