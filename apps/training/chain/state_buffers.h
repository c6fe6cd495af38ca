#pragma once

#include <cstdint>
#include <deque>
#include <vector>

#include "solver/memory/page_buffer.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// The buffers of a run: allocated, resident and registered once.
class StateBuffers {
 public:
  /// @throws OverflowError, Error when the system refuses
  StateBuffers(const Chain& chain, std::int64_t count);
  StateBuffers(const StateBuffers&) = delete;
  StateBuffers& operator=(const StateBuffers&) = delete;
  /// Waits for the tasks that use them.
  ~StateBuffers();

  [[nodiscard]] StateBuffer operator[](std::int32_t buffer) const;

  /// The buffer that has been free for longest, -1: none is. Tasks given out before may
  /// still read it; whoever writes to it comes after them.
  [[nodiscard]] std::int32_t take();
  void give(std::int32_t buffer) { free_.push_back(buffer); }
  [[nodiscard]] bool any_free() const { return !free_.empty(); }

 private:
  Bytes each_;
  std::size_t parts_;
  solver::PageBuffer memory_;
  std::vector<starpu_data_handle_t> handles_;  // by buffer, then part
  std::deque<std::int32_t> free_;
};

}  // namespace espalier::training
