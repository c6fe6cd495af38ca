#pragma once

#include <starpu.h>

#include <cstdint>
#include <functional>
#include <memory>

#include "solver/front/front.h"

namespace espalier::solver {

/// One factorisation of the nodes that this process has parts of together with others.
/// Its end is that of the object: all nodes have ended here by then.
template <class T>
class SharedRun {
 public:
  virtual ~SharedRun() = default;

  /// Does this process's part of a shared node: called by the node's first task, when the
  /// gate has let it start. `ended` is called when nothing of it is left to do.
  virtual void open(std::int32_t node, std::function<void(starpu_task*)> submit,
                    std::function<void()> ended) = 0;
  /// The log of the context has failed here, and the others are to know. Any number of
  /// times.
  virtual void tell_failure() noexcept = 0;
};

/// The nodes of a tree that this process has parts of together with others, as
/// factorise() sees them.
template <class T>
class SharedNodes {
 public:
  virtual ~SharedNodes() = default;

  /// Whether anything of a node is at this process; the tree has no sizes for it where
  /// not.
  [[nodiscard]] virtual bool takes_part(std::int32_t node) const = 0;
  /// Before the first task. `context` is there as long as what is returned.
  [[nodiscard]] virtual std::unique_ptr<SharedRun<T>> begin(
      const FrontContext<T>& context) = 0;
  /// The error that is being handled makes it impossible to go on: does not return where
  /// others wait for this process.
  virtual void stopped() noexcept = 0;
};

}  // namespace espalier::solver
