#pragma once

#include "espalier/model/units.h"

namespace espalier::solver::kernels {

/// Flops that dgemm does a second of this thread's processor time, on matrices of order
/// 512: the best of at least three calls. Leaves BLAS with one thread.
/// @par Cost  about 50 ms; a second where BLAS is at its slowest
[[nodiscard]] Flops dgemm_rate();

}  // namespace espalier::solver::kernels
