#pragma once

#include <cstdint>

namespace espalier::training {

/// From now on kernels that the calling thread makes or runs are divided among so many
/// threads. A worker of StarPU's, which is bound to a core, may then use all that the
/// process may use.
void use_threads(std::int32_t threads) noexcept;

}  // namespace espalier::training
