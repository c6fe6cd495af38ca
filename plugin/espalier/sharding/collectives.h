#pragma once

#include <cstdint>

#include "espalier/model/units.h"

namespace espalier {

/// A message of n bytes takes latency + n / bandwidth.
struct Link {
  Seconds latency = 2e-6;
  double bandwidth = 1e10;  ///< bytes a second into one process
};

/// Time of a collective among k processes, by rings; 0 for k = 1:
///   all-reduce                    2(k-1) latency + 2(k-1)/k   n / bandwidth
///   reduce-scatter, all-gather     (k-1) latency +  (k-1)/k   n / bandwidth
///   all-to-all                     (k-1) latency +  (k-1)/k^2 n / bandwidth
/// n bytes are the whole: what each has in an all-reduce and at the end of an all-gather,
/// and what is spread over all of them in an all-to-all. Not always whole bytes: shares
/// of tensors are fractions.
[[nodiscard]] Seconds all_reduce_time(double n, std::int32_t k, const Link& link);
[[nodiscard]] Seconds all_gather_time(double n, std::int32_t k, const Link& link);
[[nodiscard]] Seconds all_to_all_time(double n, std::int32_t k, const Link& link);
[[nodiscard]] Seconds send_time(double n, const Link& link);

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
