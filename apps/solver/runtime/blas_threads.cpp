#include "solver/runtime/blas_threads.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <mutex>
#include <thread>

#include "espalier/model/clock.h"
#include "solver/kernels/dense.h"
#include "solver/memory/page_buffer.h"

namespace espalier::solver {
namespace {

// Operands beyond the blocking of BLAS in each direction that fronts use.
constexpr std::int32_t kWarmRows = 576, kWarmColumns = 448;
constexpr auto kWarmTime = std::chrono::milliseconds(10);

void wait_for(const std::atomic<std::int32_t>& count, std::int32_t threads) {
  while (count.load() < threads) std::this_thread::yield();
}

// Operands of BLAS calls: touched before and freed after, so that the peak is always the
// same.
class Operands {
 public:
  Operands(std::int32_t rows, std::int32_t columns)
      : rows_(rows),
        columns_(columns),
        panel_(Bytes{rows} * columns * static_cast<Bytes>(sizeof(double))),
        target_(panel_.size()) {
    std::memset(panel_.data(), 0, static_cast<std::size_t>(panel_.size()));
    std::memset(target_.data(), 0, static_cast<std::size_t>(target_.size()));
    double* const a = panel_.as<double>();
    for (std::int32_t i = 0; i < columns_; ++i) a[std::int64_t{i} * (rows_ + 1)] = 1.0;
  }

  void call() {
    double* const a = panel_.as<double>();
    kernels::cholesky(columns_, a, rows_);
    kernels::solve_below(rows_ - columns_, columns_, a, rows_, a + columns_, rows_);
    kernels::update_lower(rows_, columns_, columns_, a, rows_, target_.as<double>(),
                          rows_);
  }

 private:
  std::int32_t rows_, columns_;
  PageBuffer panel_, target_;
};

// BLAS belongs to the program, too: it has its threads back when nobody needs one alone.
struct Users {
  std::mutex mutex;
  int count = 0;
  std::int32_t threads_before = 0;
};
Users& users() {
  static Users of_the_process;
  return of_the_process;
}

}  // namespace

OneBlasThread::OneBlasThread() {
  Users& all = users();
  const std::scoped_lock lock(all.mutex);
  if (all.count++ > 0) return;
  all.threads_before = kernels::blas_threads();
  if (all.threads_before != 1) kernels::use_one_blas_thread();
}

OneBlasThread::~OneBlasThread() {
  Users& all = users();
  const std::scoped_lock lock(all.mutex);
  if (--all.count > 0) return;
  if (all.threads_before != 1) kernels::use_blas_threads(all.threads_before);
}

void warm_up_blas(std::int32_t rows, std::int32_t columns) {
  const OneBlasThread one_thread;
  rows = std::min(rows, kWarmRows);
  columns = std::min({columns, rows, kWarmColumns});
  if (columns > 0) Operands(rows, columns).call();
}

void SharedWarmUp::call_together() {
  Operands operands(kWarmRows, kWarmColumns);
  ++arrived_;
  wait_for(arrived_, threads_);
  const auto start = Clock::now();
  do {
    operands.call();
  } while (Clock::now() - start < kWarmTime);
}

void SharedWarmUp::call() noexcept {
  try {
    call_together();
  } catch (...) {  // no memory for the operands: the others do not wait for this one
    has_failed_ = true;
    ++arrived_;
  }
  ++done_;
  wait_for(done_, threads_);
}

void SharedWarmUp::call_from_threads() noexcept {
  std::vector<std::jthread> threads;
  try {
    while (std::ssize(threads) < threads_) threads.emplace_back([this] { call(); });
  } catch (...) {
    abandon(threads_ - static_cast<std::int32_t>(threads.size()));
  }
}

// For threads that will not come.
void SharedWarmUp::abandon(std::int32_t threads) noexcept {
  has_failed_ = true;
  arrived_ += threads;
  done_ += threads;
}

}  // namespace espalier::solver
