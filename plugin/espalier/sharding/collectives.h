#pragma once

#include <cstdint>

#include "espalier/model/units.h"

namespace espalier {

/// A message of n bytes takes latency + n / bandwidth.
struct Link {
  Seconds latency = 2e-6;
  double bandwidth = 1e10;  ///< bytes a second into one process
};

/// Time of a collective among k processes, each with n bytes, by rings; 0 for k = 1:
///   all-reduce                    2(k-1) latency + 2(k-1)/k n / bandwidth
///   reduce-scatter, all-gather     (k-1) latency +  (k-1)/k n / bandwidth
/// n is the whole, of which each gets (or gives) a k-th part in the latter two.
[[nodiscard]] Seconds all_reduce_time(Bytes n, std::int32_t k, const Link& link);
[[nodiscard]] Seconds all_gather_time(Bytes n, std::int32_t k, const Link& link);
[[nodiscard]] Seconds send_time(Bytes n, const Link& link);

/// Bytes that each process sends in an all-gather (a reduce-scatter) of n: (k-1)/k n,
/// exact where k divides n, rounded up elsewhere. Twice that in an all-reduce.
[[nodiscard]] Bytes all_gather_bytes(Bytes n, std::int32_t k);

/// Processes that compute and send. Groups lie in a grid whose fastest axis is the tensor
/// group, then the ranks of data parallelism, then the stages of the pipeline.
struct Cluster {
  double rate = 1e14;                ///< flops a second of one process
  double memory_bandwidth = 1.5e12;  ///< bytes a second of its memory
  Link network;                      ///< between nodes
  std::int32_t node_size = 1;        ///< processes of a node
  Link inside = {};                  ///< of a node

  /// The link of groups of k processes that lie `stride` apart: that inside a node where
  /// every group lies in one.
  [[nodiscard]] const Link& link(std::int32_t k, std::int32_t stride) const;
};

}  // namespace espalier
