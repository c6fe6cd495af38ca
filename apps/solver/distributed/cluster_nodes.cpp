#include "solver/distributed/cluster_nodes.h"

#include <algorithm>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "espalier/model/error.h"
#include "solver/distributed/deal_out_delays.h"
#include "solver/distributed/original_tiles.h"
#include "solver/distributed/own_panels.h"
#include "solver/distributed/shared_front.h"

namespace espalier::solver {

namespace {

// One factorisation: who takes part in its shared nodes, and which of them are open.
template <class T>
class ClusterRun final : public SharedRun<T> {
 public:
  /// @param number  of the factorisation, the same everywhere
  ClusterRun(ClusterNodes<T>& nodes, Communicator& communicator, Channel& channel,
             const FrontDistribution& distribution, const FrontContext<T>& context,
             std::int32_t number);
  ~ClusterRun() override { channel_.serve_with({}); }

  void open(std::int32_t node, std::function<void(starpu_task*)> submit,
            std::function<void()> ended) override;
  void tell_failure() noexcept override;

 private:
  struct Waiting {
    std::int32_t from;
    DataRequest request;
  };
  void serve(std::int32_t from, const DataRequest& request);
  void close(std::int32_t node);
  void keep_panels(std::int32_t node, const std::function<void()>& ended);

  ClusterNodes<T>& nodes_;
  Communicator& communicator_;
  Channel& channel_;
  const FrontDistribution& distribution_;
  const FrontContext<T>& context_;
  const std::int32_t number_;

  std::mutex mutex_;                                  // of what follows
  std::vector<std::vector<FrontEntry<T>>> original_;  // of each node; empty: no tiles
  bool told_ = false;
  std::map<std::int32_t, std::unique_ptr<SharedFront<T>>> fronts_;  // that are open
  std::map<std::int32_t, std::vector<Waiting>> waiting_;  // for nodes to be opened
};

template <class T>
ClusterRun<T>::ClusterRun(ClusterNodes<T>& nodes, Communicator& communicator,
                          Channel& channel, const FrontDistribution& distribution,
                          const FrontContext<T>& context, std::int32_t number)
    : nodes_(nodes),
      communicator_(communicator),
      channel_(channel),
      distribution_(distribution),
      context_(context),
      number_(number) {
  const bool spills = std::ranges::any_of(
      context.tree.nodes,
      [](const AssemblyTree::Node& node) { return node.shared && node.factor_at >= 0; });
  const bool some_spill = communicator_.smallest(spills ? 0 : 1) == 0;
  deal_out_delays(context.symbolic, context.tree, distribution_, context.pivoting,
                  some_spill, context.reserve);
  if (!distribution.grid.empty()) {
    note_strips(context.symbolic, context.tree, distribution_, context.factor);
    original_ = original_tiles<T>(communicator_, context.symbolic, context.tree,
                                  distribution_, context.permuted);
  }
  channel_.serve_with(
      [this](std::int32_t from, const DataRequest& request) { serve(from, request); });
}

template <class T>
void ClusterRun<T>::open(std::int32_t node, std::function<void(starpu_task*)> submit,
                         std::function<void()> ended) {
  const bool in_tiles = distribution_.grid_of(node).strips() > 1;
  auto front = std::make_unique<SharedFront<T>>(
      typename SharedFront<T>::Site{context_, distribution_, communicator_.rank(),
                                    channel_, [this] { tell_failure(); },
                                    in_tiles ? &original_[node] : nullptr},
      node, std::move(submit), [this, node, ended = std::move(ended)] {
        close(node);
        keep_panels(node, ended);
      });
  SharedFront<T>& open = *front;
  std::vector<Waiting> waiting;
  {
    const std::scoped_lock lock(mutex_);
    fronts_.emplace(node, std::move(front));
    const auto place = waiting_.find(node);
    if (place != waiting_.end()) {
      waiting = std::move(place->second);
      waiting_.erase(place);
    }
  }
  for (const Waiting& one : waiting) open.serve(one.from, one.request);
  open.run();
}

template <class T>
void ClusterRun<T>::close(std::int32_t node) {
  std::unique_ptr<SharedFront<T>> done;  // goes after the lock
  const std::scoped_lock lock(mutex_);
  const auto place = fronts_.find(node);
  done = std::move(place->second);
  fronts_.erase(place);
  if (!original_.empty()) original_[node] = {};
}

// What is here of the panel stays, or goes to the file and is freed then.
template <class T>
void ClusterRun<T>::keep_panels(std::int32_t node, const std::function<void()>& ended) {
  const AssemblyTree& tree = context_.tree;
  PageBuffer& storage = context_.factor.storage[node];
  Bytes at = tree.nodes[node].factor_at;
  // With delayed columns it stands beside the plan, and stays.
  if (at < 0 || context_.factor.delayed_in(tree.nodes[node].last_front) > 0)
    return ended();
  const ByteRanges pages =
      own_panel_pages(context_.symbolic, tree, distribution_, node, communicator_.rank());
  if (pages.empty() || context_.log.failed()) {
    storage.release();
    return ended();
  }
  try {
    for (const auto& [begin, end] : pages) {
      const bool last = end == pages.back().second;
      context_.file->write(
          at, {storage.data() + begin, static_cast<std::size_t>(end - begin)},
          [&storage, ended, last] {
            if (!last) return;
            storage.release();
            ended();
          });
      at += end - begin;
    }
  } catch (...) {
    context_.stop();
  }
}

// From the channel's thread.
template <class T>
void ClusterRun<T>::serve(std::int32_t from, const DataRequest& request) {
  if (request.kind == DataRequest::Kind::kStop) {
    if (request.node == number_) context_.log.fail(request.block);
    return;
  }
  SharedFront<T>* open = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    const auto place = fronts_.find(request.node);
    if (place == fronts_.end())
      waiting_[request.node].push_back({from, request});
    else
      open = place->second.get();
  }
  // It stays until it has answered.
  if (open != nullptr) open->serve(from, request);
}

template <class T>
void ClusterRun<T>::tell_failure() noexcept {
  {
    const std::scoped_lock lock(mutex_);
    if (std::exchange(told_, true)) return;
  }
  try {
    channel_.tell_all({.kind = DataRequest::Kind::kStop,
                       .node = number_,
                       .block = context_.log.failure()->column});
  } catch (...) {
    nodes_.stopped();
  }
}

}  // namespace

template <class T>
std::unique_ptr<SharedRun<T>> ClusterNodes<T>::begin(const FrontContext<T>& context) {
  return std::make_unique<ClusterRun<T>>(*this, communicator_, channel_, distribution_,
                                         context, channel_.begin_work());
}

template <class T>
void ClusterNodes<T>::stopped() noexcept {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    communicator_.fail(3, error.what());
  } catch (...) {
    communicator_.fail(3, "unknown error");
  }
}

#define ESPALIER_INSTANTIATE(T) template class ClusterNodes<T>;
ESPALIER_FOR_ENTRIES(ESPALIER_INSTANTIATE)
#undef ESPALIER_INSTANTIATE

}  // namespace espalier::solver
