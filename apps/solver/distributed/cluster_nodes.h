#pragma once

#include <cstdint>
#include <memory>

#include "solver/distributed/channel.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/front/shared_nodes.h"

namespace espalier::solver {

/// The shared nodes of factorisations on a cluster: one factorisation at a time, each
/// begun by all processes.
template <class T>
class ClusterNodes : public SharedNodes<T> {
 public:
  /// All of them outlive this.
  ClusterNodes(Communicator& communicator, Channel& channel,
               const FrontDistribution& distribution)
      : communicator_(communicator), channel_(channel), distribution_(distribution) {}

  [[nodiscard]] bool takes_part(std::int32_t node) const override {
    return distribution_.takes_part(node, communicator_.rank());
  }
  [[nodiscard]] std::unique_ptr<SharedRun<T>> begin(
      const FrontContext<T>& context) override;
  void stopped() noexcept override;

 private:
  Communicator& communicator_;
  Channel& channel_;
  const FrontDistribution& distribution_;
};

}  // namespace espalier::solver
