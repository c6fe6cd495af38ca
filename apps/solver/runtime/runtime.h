#pragma once

#include <cstdint>
#include <string>

#include "espalier/model/error.h"

namespace espalier::solver {

/// One worker a core that this process may use, and no more than StarPU was built for.
[[nodiscard]] std::int32_t default_workers();

struct RuntimeOptions {
  std::int32_t workers = 1;
  std::string scheduler = "espalier";  ///< or the name of one of StarPU's own policies
};

/// What can be said of the options before anything runs.
/// @throws InvalidInput for workers that are not between 1 and what this build of StarPU
///         has, and for an unknown scheduler: the message lists those there are; StarPU
///         itself would silently take another
/// @throws MemoryLimit where a limit of the process leaves no room for the workers
void check(const RuntimeOptions& options);

/// StarPU is taken: by the program, or by another Runtime of other options.
class Busy : public Error {
 public:
  using Error::Error;
};

/// StarPU, running on CPU workers for the life of this object. There is one StarPU in a
/// process: several of these objects, which must have the same options, share it, and the
/// last one ends it. They may be used from different threads.
class Runtime {
 public:
  /// @throws InvalidInput for workers < 1 or an unknown scheduler (the message lists
  ///         those there are; StarPU itself would silently take another), Error when
  ///         StarPU does not start or gives fewer workers than asked for, Busy,
  ///         MemoryLimit as check()
  explicit Runtime(const RuntimeOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] std::int32_t workers() const { return options_.workers; }
  [[nodiscard]] const std::string& scheduler() const { return options_.scheduler; }
  [[nodiscard]] bool espalier() const { return options_.scheduler == "espalier"; }

  /// Workers poll for tasks, at the cost of whatever else wants their cores: between
  /// factorisations they sleep. A Runtime starts asleep; workers sleep when all sharers
  /// do.
  void wake() const;
  void sleep() const;

  /// Lets every worker call BLAS at the same time, so that the buffers that BLAS keeps
  /// for each thread are resident before memory is measured.
  void warm_up();

 private:
  RuntimeOptions options_;
};

/// Calls of BLAS run in the caller's thread alone while one exists, and with as many
/// threads as before afterwards.
class OneBlasThread {
 public:
  OneBlasThread();
  OneBlasThread(const OneBlasThread&) = delete;
  OneBlasThread& operator=(const OneBlasThread&) = delete;
  ~OneBlasThread();
};

/// Calls BLAS once, on operands as large as those of a front with so many rows and
/// pivots, up to where BLAS cuts them: what it keeps for the calling thread is resident
/// then.
void warm_up_blas(std::int32_t rows, std::int32_t columns);

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
