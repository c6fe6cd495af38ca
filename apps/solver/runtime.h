#pragma once

#include <cstdint>
#include <string>

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
void check(const RuntimeOptions& options);

/// StarPU, running on CPU workers for the life of this object. One at a time in a
/// process.
class Runtime {
 public:
  /// @throws InvalidInput for workers < 1 or an unknown scheduler (the message lists
  /// those
  ///         there are; StarPU itself would silently take another), Error when StarPU
  ///         does not start or gives fewer workers than asked for
  explicit Runtime(const RuntimeOptions& options);
  ~Runtime();
  Runtime(const Runtime&) = delete;
  Runtime& operator=(const Runtime&) = delete;

  [[nodiscard]] std::int32_t workers() const { return options_.workers; }
  [[nodiscard]] const std::string& scheduler() const { return options_.scheduler; }
  [[nodiscard]] bool espalier() const { return options_.scheduler == "espalier"; }

  /// Workers poll for tasks, at the cost of whatever else wants their cores: between
  /// factorisations they sleep. A Runtime starts asleep.
  void wake() const;
  void sleep() const;

  /// Lets every worker call BLAS at the same time, so that the buffers that BLAS keeps
  /// for each thread are resident before memory is measured.
  void warm_up();

 private:
  RuntimeOptions options_;
};

}  // namespace espalier::solver
