#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// Number of a downset in its lattice; 0 is the empty set.
enum class DownsetId : std::int32_t {};
/// Number of a step in its lattice.
enum class DownsetStepId : std::int32_t {};

/// All downsets of a block, from the empty set to all tasks, with what lies between.
class DownsetLattice {
 public:
  /// Task `task` turns downset `from` into downset `to` and needs `hill` bytes.
  struct Step {
    DownsetId from, to;
    BlockTaskId task;
    Bytes hill;
  };

  /// nullopt: there are more than `most_downsets`.
  [[nodiscard]] static std::optional<DownsetLattice> of(const BlockIndex& block,
                                                        std::size_t most_downsets);

  [[nodiscard]] std::size_t size() const { return level_.size(); }
  [[nodiscard]] DownsetId empty_set() const { return DownsetId{0}; }
  [[nodiscard]] DownsetId all_tasks() const {
    return DownsetId{static_cast<std::int32_t>(size() - 1)};
  }
  [[nodiscard]] IdRange<DownsetId> ids() const { return level_.ids(); }
  /// v of the downset.
  [[nodiscard]] Bytes level(DownsetId downset) const { return level_[downset]; }
  [[nodiscard]] bool is_subset(DownsetId a, DownsetId b) const;
  /// Steps that leave the downset, and steps that lead to it.
  [[nodiscard]] IdRange<DownsetStepId> up(DownsetId downset) const {
    return {first_up_[index(downset)], first_up_[index(downset) + 1]};
  }
  [[nodiscard]] std::span<const DownsetStepId> down(DownsetId downset) const {
    const std::size_t i = index(downset);
    return std::span(down_).subspan(first_down_[i], first_down_[i + 1] - first_down_[i]);
  }
  [[nodiscard]] const Step& step(DownsetStepId step) const { return steps_[step]; }

 private:
  explicit DownsetLattice(const BlockIndex& block);
  [[nodiscard]] bool enumerate(const BlockIndex& block, std::size_t most_downsets);
  void list_down();
  void expand(const BlockIndex& block, DownsetId downset);
  [[nodiscard]] DownsetId find_or_add(std::span<const std::uint64_t> set, Bytes level);
  void grow();

  static constexpr DownsetId kNone{-1};
  [[nodiscard]] std::span<const std::uint64_t> set(DownsetId downset) const {
    return std::span(sets_).subspan(index(downset) * words_, words_);
  }

  std::size_t words_;
  std::vector<std::uint64_t> sets_;  // words_ a downset
  IdVector<DownsetId, Bytes> level_;
  IdVector<DownsetStepId, Step> steps_;  // by `from`
  std::vector<std::size_t> first_up_, first_down_;
  std::vector<DownsetStepId> down_;  // by `to`
  std::vector<DownsetId> slots_;     // open addressing: downsets by their set
};

}  // namespace espalier
