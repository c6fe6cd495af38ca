#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "solver/memory/page_buffer.h"

namespace espalier::solver {

/// A piece of memory for each worker, for what a kernel needs while it runs: of any
/// content.
class WorkerScratch {
 public:
  /// @param worker  tells the number of the calling worker; null: there is one worker
  WorkerScratch(std::int32_t workers, Bytes bytes_each, int (*worker)() = nullptr)
      : each_(PageBuffer::footprint(bytes_each)),
        memory_(PageBuffer::unset(each_ * workers)),
        worker_(worker) {}

  /// The calling worker's piece, or where `entries` do not fit in it, `beyond` with so
  /// many.
  template <class T>
  [[nodiscard]] std::span<T> at_least(std::int64_t entries,
                                      std::vector<T>& beyond) const {
    const std::span<T> mine = as<T>();
    if (static_cast<std::int64_t>(mine.size()) >= entries) return mine;
    beyond.resize(static_cast<std::size_t>(entries));
    return beyond;
  }

  /// The calling worker's piece.
  template <class T>
  [[nodiscard]] std::span<T> as() const {
    std::byte* const mine = memory_.data() + each_ * (worker_ == nullptr ? 0 : worker_());
    return {reinterpret_cast<T*>(mine), static_cast<std::size_t>(each_) / sizeof(T)};
  }
  [[nodiscard]] Bytes bytes_each() const { return each_; }

 private:
  Bytes each_;
  PageBuffer memory_;
  int (*worker_)();
};

}  // namespace espalier::solver
