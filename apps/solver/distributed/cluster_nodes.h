#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include "solver/distributed/channel.h"
#include "solver/distributed/communicator.h"
#include "solver/distributed/front_distribution.h"
#include "solver/distributed/shared_front.h"
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
  void begin(const FrontContext<T>& context) override;
  void open(std::int32_t node, std::function<void(starpu_task*)> submit,
            std::function<void()> ended) override;
  void pivot_failed() noexcept override;
  void stopped() noexcept override;
  void end() override;

 private:
  struct Waiting {
    std::int32_t from;
    DataRequest request;
  };
  void serve(std::int32_t from, const DataRequest& request);
  void keep_panels(std::int32_t node, const std::function<void()>& ended);

  Communicator& communicator_;
  Channel& channel_;
  const FrontDistribution& distribution_;
  const FrontContext<T>* context_ = nullptr;
  std::int32_t run_ = 0;  // number of the factorisation, the same everywhere

  std::mutex mutex_;  // of what follows
  bool told_ = false;
  std::map<std::int32_t, std::unique_ptr<SharedFront<T>>> fronts_;  // that are open
  std::map<std::int32_t, std::vector<Waiting>> waiting_;  // for nodes to be opened
};

}  // namespace espalier::solver
