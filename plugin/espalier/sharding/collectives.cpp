#include "espalier/sharding/collectives.h"

namespace espalier {

Seconds all_gather_time(double n, std::int32_t k, const Link& link) {
  const double others = k - 1;
  return others * link.latency + others / k * n / link.bandwidth;
}

Seconds all_reduce_time(double n, std::int32_t k, const Link& link) {
  return 2 * all_gather_time(n, k, link);
}

Seconds all_to_all_time(double n, std::int32_t k, const Link& link) {
  const double others = k - 1;
  return others * link.latency + others / k * (n / k) / link.bandwidth;
}

Seconds send_time(double n, const Link& link) {
  return link.latency + n / link.bandwidth;
}

Bytes all_gather_bytes(Bytes n, std::int32_t k) { return n - n / k; }

const Link& Cluster::link(std::int32_t k, std::int32_t stride) const {
  const std::int64_t extent = std::int64_t{k} * stride;
  return node_size % extent == 0 ? inside : network;
}

}  // namespace espalier
