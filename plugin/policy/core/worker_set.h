#pragma once

#include <bitset>
#include <cstddef>

namespace espalier::policy {

/// More than any StarPU build has: scheduler.cpp holds it against STARPU_NMAXWORKERS.
inline constexpr std::size_t kMaxWorkers = 1024;

/// Workers by StarPU's worker id.
using WorkerSet = std::bitset<kMaxWorkers>;

}  // namespace espalier::policy
