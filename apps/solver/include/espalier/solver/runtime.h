#pragma once

#include <cstdint>
#include <string>

#include "espalier/model/error.h"
#include "espalier/solver/export.h"

namespace espalier::solver {

/// One worker a core that this process may use, and no more than StarPU was built for.
[[nodiscard]] ESPALIER_SOLVER_EXPORT std::int32_t default_workers();

struct RuntimeOptions {
  std::int32_t workers = 1;
  std::string scheduler = "espalier";  ///< or the name of one of StarPU's own policies
};

/// StarPU is taken: by the program, or by another Runtime of other options, or by the
/// process of which fork() made this one, where the workers are.
class ESPALIER_SOLVER_EXPORT Busy : public Error {
 public:
  using Error::Error;
};

/// StarPU's CPU workers for the life of this object: started here, or adopted from a
/// program that runs StarPU itself.
///
/// There is one StarPU in a process: several of these objects, which must have the same
/// options, share it. They may be used from different threads.
///
/// One that was started is ended with the last Runtime, and its workers sleep in between.
/// One that was adopted stays the program's: tasks go to a scheduling context of their
/// own, under the espalier policy, on workers that the program's contexts keep as well;
/// nothing is paused, and nobody waits for the program's tasks. Workers take the
/// program's tasks first where its policy tells StarPU how many it has (eager, prio, ws,
/// dmda do). With the last Runtime the context goes, and StarPU is as it was.
///
/// After fork() the copy has none of the workers: what would wait for them throws Busy
/// there, and destructors only give memory back.
class ESPALIER_SOLVER_EXPORT Runtime {
 public:
  /// @throws InvalidInput for workers < 1 or an unknown scheduler (the message lists
  ///         those there are; StarPU itself would silently take another), Error when
  ///         StarPU does not start or gives fewer workers than asked for, Busy,
  ///         MemoryLimit as check()
  explicit Runtime(const RuntimeOptions& options);

  /// The program has called starpu_init(), and calls starpu_shutdown() when this is gone.
  /// @param workers  the first so many CPU workers; 0: all
  /// @throws InvalidInput for more workers than StarPU has, Busy when StarPU does not
  ///         run, was started by another Runtime, or was adopted with other workers,
  ///         Error when StarPU has no scheduling context left
  [[nodiscard]] static Runtime adopt(std::int32_t workers = 0);

  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] std::int32_t workers() const { return options_.workers; }
  [[nodiscard]] const std::string& scheduler() const { return options_.scheduler; }
  [[nodiscard]] bool espalier() const { return options_.scheduler == "espalier"; }
  [[nodiscard]] bool adopted() const { return adopted_; }
  /// Of StarPU, for tasks.
  [[nodiscard]] unsigned context() const { return context_; }

  /// Workers poll for tasks, at the cost of whatever else wants their cores: between
  /// factorisations they sleep. A Runtime starts asleep; workers sleep when all sharers
  /// do. Those of the program never do.
  void wake() const;
  void sleep() const;

  /// Lets as many threads as there are workers call BLAS at the same time, so that the
  /// buffers that BLAS keeps for each are resident before memory is measured.
  void warm_up();

 private:
  struct Adopted {
    explicit Adopted(std::int32_t number) : workers(number) {}
    std::int32_t workers;
  };
  explicit Runtime(Adopted adopted);

  RuntimeOptions options_;
  bool adopted_ = false;
  unsigned context_ = 0;
};

}  // namespace espalier::solver
