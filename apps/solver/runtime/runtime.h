#pragma once

#include <cstdint>
#include <string>

#include "espalier/model/error.h"
#include "espalier/model/units.h"
#include "espalier/solver/runtime.h"
#include "solver/runtime/blas_threads.h"

namespace espalier::solver {

/// What can be said of the options before anything runs.
/// @throws InvalidInput for workers that are not between 1 and what this build of StarPU
///         has, and for an unknown scheduler: the message lists those there are; StarPU
///         itself would silently take another
void check(const RuntimeOptions& options);
/// @throws MemoryLimit where a limit of the process leaves no room for the workers
void check_room(const RuntimeOptions& options);

/// What starting a Runtime adds to the resident set, BLAS warmed up: rather too much. 0
/// where one runs already.
[[nodiscard]] Bytes start_bytes(std::int32_t workers);
/// Of that, what BLAS keeps for threads that call it at the same time.
[[nodiscard]] Bytes blas_bytes(std::int32_t threads);

/// The place of the calling worker among those of the Runtime, from 0 on; -1 for any
/// other thread.
[[nodiscard]] int worker_rank() noexcept;

/// Workers are awake while one exists.
class Awake {
 public:
  explicit Awake(const Runtime& runtime) : runtime_(runtime) { runtime.wake(); }
  Awake(const Awake&) = delete;
  Awake& operator=(const Awake&) = delete;
  ~Awake() { runtime_.sleep(); }

 private:
  const Runtime& runtime_;
};

}  // namespace espalier::solver
