#include "training/chain/state_buffers.h"

#include <malloc.h>

#include <algorithm>
#include <array>
#include <utility>

#include "espalier/model/error.h"

namespace espalier::training {

// Measured: it depends on what StarPU was built for. A part's share of dependencies, of
// the lists of readers and of what the heap rounds up comes on top.
Bytes handle_bytes() {
  static const Bytes measured = [] {
    constexpr Bytes kLeast = 2048, kBeside = 512;
    std::array<starpu_data_handle_t, 17> handles;
    starpu_void_data_register(&handles[0]);  // what comes with the first only
    const std::size_t before = mallinfo2().uordblks;
    for (std::size_t i = 1; i < handles.size(); ++i)
      starpu_void_data_register(&handles[i]);
    const std::size_t after = mallinfo2().uordblks;
    for (const starpu_data_handle_t handle : handles) starpu_data_unregister(handle);
    const auto grown = static_cast<Bytes>(after > before ? after - before : 0);
    return std::max(kLeast, grown / 16) + kBeside;
  }();
  return measured;
}

StateBuffers::StateBuffers(const Chain& chain, std::int64_t count)
    : each_(solver::PageBuffer::footprint(chain.state_bytes())),
      parts_(chain.parts.size()),
      memory_(checked_mul(each_, count)),
      handles_(static_cast<std::size_t>(count) * parts_) {
  for (std::int64_t buffer = 0; buffer < count; ++buffer) {
    std::byte* data = memory_.data() + each_ * buffer;
    for (std::size_t part = 0; part < parts_; ++part) {
      starpu_variable_data_register(
          &handles_[static_cast<std::size_t>(buffer) * parts_ + part], STARPU_MAIN_RAM,
          reinterpret_cast<std::uintptr_t>(data),
          static_cast<std::size_t>(chain.parts[part]));
      data += chain.parts[part];
    }
    give(static_cast<std::int32_t>(buffer));
  }
}

StateBuffers::~StateBuffers() {
  for (const starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
}

StateBuffer StateBuffers::operator[](std::int32_t buffer) const {
  return {memory_.data() + each_ * buffer,
          std::span(handles_).subspan(static_cast<std::size_t>(buffer) * parts_, parts_)};
}

std::int32_t StateBuffers::take() {
  if (free_.empty()) return -1;
  const std::int32_t buffer = free_.front();
  free_.pop_front();
  return buffer;
}

}  // namespace espalier::training
