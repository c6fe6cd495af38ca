#include "espalier/sharding/collectives.h"

namespace espalier {

Seconds all_gather_time(Bytes n, std::int32_t k, const Link& link) {
  const auto others = static_cast<double>(k - 1);
  return others * link.latency + others / k * static_cast<double>(n) / link.bandwidth;
}

Seconds all_reduce_time(Bytes n, std::int32_t k, const Link& link) {
  return 2 * all_gather_time(n, k, link);
}

Seconds send_time(Bytes n, const Link& link) {
  return link.latency + static_cast<double>(n) / link.bandwidth;
}

Bytes all_gather_bytes(Bytes n, std::int32_t k) { return n - n / k; }

const Link& Cluster::link(std::int32_t k, std::int32_t stride) const {
  const std::int64_t extent = std::int64_t{k} * stride;
  return node_size % extent == 0 ? inside : network;
}

}  // namespace espalier
