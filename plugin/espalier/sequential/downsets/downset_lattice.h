#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/sequential/downsets/downset_block.h"

namespace espalier {

/// All downsets of a block, from the empty set to all tasks, with what lies between.
class DownsetLattice {
 public:
  /// Task `task` turns downset `from` into downset `to` and needs `hill` bytes.
  struct Step {
    std::int32_t from, to, task;
    Bytes hill;
  };

  /// nullopt: there are more than `most_downsets`.
  [[nodiscard]] static std::optional<DownsetLattice> of(const BlockIndex& block,
                                                        std::size_t most_downsets);

  [[nodiscard]] std::size_t size() const { return level_.size(); }
  [[nodiscard]] std::int32_t empty_set() const { return 0; }
  [[nodiscard]] std::int32_t all_tasks() const {
    return static_cast<std::int32_t>(size()) - 1;
  }
  /// v of the downset.
  [[nodiscard]] Bytes level(std::int32_t downset) const { return level_[at(downset)]; }
  [[nodiscard]] bool is_subset(std::int32_t a, std::int32_t b) const;
  /// Steps that leave the downset, and steps that lead to it.
  [[nodiscard]] std::span<const Step> up(std::int32_t downset) const {
    return std::span(steps_).subspan(first_up_[at(downset)],
                                     first_up_[at(downset) + 1] - first_up_[at(downset)]);
  }
  [[nodiscard]] std::span<const std::int32_t> down(std::int32_t downset) const {
    return std::span(down_).subspan(
        first_down_[at(downset)],
        first_down_[at(downset) + 1] - first_down_[at(downset)]);
  }
  [[nodiscard]] const Step& step(std::int32_t number) const { return steps_[at(number)]; }

 private:
  explicit DownsetLattice(const BlockIndex& block);
  [[nodiscard]] bool enumerate(const BlockIndex& block, std::size_t most_downsets);
  void list_down();
  void expand(const BlockIndex& block, std::size_t downset);
  [[nodiscard]] std::size_t find_or_add(std::span<const std::uint64_t> set, Bytes level);
  void grow();

  static std::size_t at(std::int32_t number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] std::span<const std::uint64_t> set(std::size_t downset) const {
    return std::span(sets_).subspan(downset * words_, words_);
  }

  std::size_t words_;
  std::vector<std::uint64_t> sets_;  // words_ a downset
  std::vector<Bytes> level_;
  std::vector<Step> steps_;  // by `from`
  std::vector<std::size_t> first_up_, first_down_;
  std::vector<std::int32_t> down_;   // numbers of steps, by `to`
  std::vector<std::int32_t> slots_;  // open addressing: downsets by their set
};

}  // namespace espalier
