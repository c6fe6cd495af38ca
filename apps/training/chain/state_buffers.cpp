#include "training/chain/state_buffers.h"

#include "espalier/model/error.h"

namespace espalier::training {

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
