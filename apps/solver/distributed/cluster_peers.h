#pragma once

#include "solver/distributed/cluster.h"
#include "solver/distributed/peers.h"

namespace espalier::solver {

/// The processes of a Cluster as Peers.
class ClusterPeers final : public Peers {
 public:
  /// @param cluster  outlives this
  explicit ClusterPeers(Cluster& cluster) : cluster_(cluster) {}

  [[nodiscard]] std::int32_t rank() const override { return cluster_.rank(); }
  [[nodiscard]] std::int32_t size() const override { return cluster_.size(); }
  void broadcast(std::span<std::byte> bytes, std::int32_t root) override {
    cluster_.broadcast(bytes, root);
  }
  void sum(std::span<double> values) override { cluster_.sum(values); }
  void send(std::span<const std::byte> bytes, std::int32_t to,
            std::int32_t tag) override {
    cluster_.send(bytes, to, tag);
  }
  void receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) override {
    cluster_.receive(bytes, from, tag);
  }

 private:
  Cluster& cluster_;
};

}  // namespace espalier::solver
