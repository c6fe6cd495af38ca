#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "espalier/model/units.h"

namespace espalier {

/// Devices in a grid. A message of n bytes along an axis takes `latency` and n times
/// `seconds_per_byte`.
struct MeshAxis {
  std::int32_t devices = 1;
  Seconds latency = 5e-6;
  Seconds seconds_per_byte = 1e-11;  ///< 100 GB/s
};
struct Mesh {
  std::vector<MeshAxis> axes;
  [[nodiscard]] std::int64_t devices() const;
};

/// "8x8", "16", "2x4x4". @throws InvalidInput naming what is no such grid, is larger than
/// 2^20 devices, or has more than four axes that are longer than one
[[nodiscard]] Mesh parse_mesh(std::string_view text);

// Collectives along an axis of k devices, by rings; `bytes` is the whole of what each
// device holds at the end (all-gather, all-reduce) or held at the beginning
// (reduce-scatter, all-to-all: spread over the k). Nothing for one device.

/// 2 (k-1) latency + 2 (k-1)/k bytes / bandwidth
[[nodiscard]] Seconds all_reduce(const MeshAxis& axis, double bytes);
/// Half of all_reduce(); reduce_scatter() is the same.
[[nodiscard]] Seconds all_gather(const MeshAxis& axis, double bytes);
/// (k-1) latency + (k-1)/k^2 bytes / bandwidth
[[nodiscard]] Seconds all_to_all(const MeshAxis& axis, double bytes);

}  // namespace espalier
