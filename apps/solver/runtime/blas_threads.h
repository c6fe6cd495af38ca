#pragma once

#include <atomic>
#include <cstdint>

namespace espalier::solver {

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

/// Calls of BLAS by several threads at the same time: BLAS hands its buffers out call by
/// call, so that only these use several of them.
class SharedWarmUp {
 public:
  explicit SharedWarmUp(std::int32_t threads) : threads_(threads) {}

  /// By each of the threads; returns when all have called BLAS.
  void call() noexcept;
  /// By threads of their own, which end with it, or as many as the system allows.
  void call_from_threads() noexcept;
  /// Whether a thread had no memory for its operands.
  [[nodiscard]] bool has_failed() const { return has_failed_.load(); }

 private:
  void call_together();
  void abandon(std::int32_t threads) noexcept;

  std::int32_t threads_;
  std::atomic<std::int32_t> arrived_{0}, done_{0};
  std::atomic<bool> has_failed_{false};
};

}  // namespace espalier::solver
