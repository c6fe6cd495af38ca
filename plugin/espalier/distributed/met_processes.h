#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace espalier {

/// What is known of each process that has to do with the task at hand: one Entry a
/// process that was met, in the order of meeting. Forgetting costs what was met.
template <class Entry>
class MetProcesses {
 public:
  explicit MetProcesses(std::size_t processes) : entry_(processes), met_(processes) {}

  /// Meets it, unless it was.
  [[nodiscard]] Entry& meet(std::int32_t process) {
    const auto p = static_cast<std::size_t>(process);
    if (!met_[p]) who_.push_back(process);
    met_[p] = true;
    return entry_[p];
  }

  [[nodiscard]] bool met(std::int32_t process) const {
    return met_[static_cast<std::size_t>(process)];
  }
  [[nodiscard]] const Entry& operator[](std::int32_t process) const {
    return entry_[static_cast<std::size_t>(process)];
  }
  /// May be sorted.
  [[nodiscard]] std::vector<std::int32_t>& who() { return who_; }

  void forget() {
    for (const std::int32_t process : who_) {
      entry_[static_cast<std::size_t>(process)] = {};
      met_[static_cast<std::size_t>(process)] = false;
    }
    who_.clear();
  }

 private:
  std::vector<Entry> entry_;
  std::vector<bool> met_;
  std::vector<std::int32_t> who_;
};

}  // namespace espalier
