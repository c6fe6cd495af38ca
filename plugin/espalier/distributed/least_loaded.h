#pragma once

#include <cstdint>
#include <vector>

#include "espalier/model/schedule.h"
#include "espalier/model/units.h"

namespace espalier {

/// What each process holds, and which of a range hold least. Equal loads: the first.
class LeastLoaded {
 public:
  explicit LeastLoaded(std::int32_t processes);
  [[nodiscard]] Bytes operator[](std::int32_t process) const {
    return load_[leaf(process)];
  }
  /// O(log P)
  void set(std::int32_t process, Bytes load);
  /// The one of least load in `range`. O(log P)
  [[nodiscard]] std::int32_t least(const WorkerRange& range) const {
    return static_cast<std::int32_t>(least_leaf(range) - leaves_);
  }
  /// Appends the `count` processes of least load in `range`, all of them if it has no
  /// more. O((count + log P) log P)
  void least(const WorkerRange& range, std::int32_t count,
             std::vector<std::int32_t>& processes);

 private:
  [[nodiscard]] std::size_t leaf(std::int32_t process) const {
    return leaves_ + static_cast<std::size_t>(process);
  }
  [[nodiscard]] std::size_t lesser(std::size_t a, std::size_t b) const;
  [[nodiscard]] std::size_t least_leaf(const WorkerRange& range) const;
  void update(std::size_t leaf);

  std::size_t leaves_ = 1;
  std::vector<Bytes> load_;         // of leaves, by leaf; the rest of it is not used
  std::vector<std::size_t> least_;  // of each node of a complete binary tree, the leaf
};

}  // namespace espalier
