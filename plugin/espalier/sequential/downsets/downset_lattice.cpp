#include "espalier/sequential/downsets/downset_lattice.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace espalier {
namespace {

bool holds(std::span<const std::uint64_t> set, BlockTaskId task) {
  const std::size_t i = index(task);
  return (set[i / 64] >> (i % 64) & 1) != 0;
}

// Of a task that is not in the set.
bool is_ready(const BlockIndex& block, std::span<const std::uint64_t> set,
              BlockTaskId task) {
  const auto before = block.predecessors(task);
  return std::all_of(before.begin(), before.end(),
                     [&](BlockTaskId other) { return holds(set, other); });
}

// v(S + x) − v(S)
Bytes change(const BlockIndex& block, std::span<const std::uint64_t> set,
             BlockTaskId task) {
  Bytes bytes = block.left_by(task);
  for (const BlockDatumId datum : block.inputs(task)) {
    const auto readers = block.readers(datum);
    const bool is_last =
        !block.stays(datum) &&
        std::all_of(readers.begin(), readers.end(), [&](BlockTaskId reader) {
          return reader == task || holds(set, reader);
        });
    if (is_last) bytes -= block.datum_size(datum);
  }
  return bytes;
}

std::size_t hash(std::span<const std::uint64_t> set) {
  std::uint64_t mixed = 0x9e3779b97f4a7c15;
  for (const std::uint64_t word : set) {
    mixed = (mixed ^ word) * 0xff51afd7ed558ccd;
    mixed ^= mixed >> 32;
  }
  return mixed;
}

}  // namespace

DownsetLattice::DownsetLattice(const BlockIndex& block)
    : words_(std::max<std::size_t>(1, (block.size() + 63) / 64)) {}

std::optional<DownsetLattice> DownsetLattice::of(const BlockIndex& block,
                                                 std::size_t most_downsets) {
  // n tasks have at least n + 1 downsets, those along any order.
  if (block.size() >= most_downsets) return std::nullopt;
  DownsetLattice lattice(block);
  if (!lattice.enumerate(block, most_downsets)) return std::nullopt;
  lattice.list_down();
  return lattice;
}

// Breadth first, so that all tasks are the last downset.
bool DownsetLattice::enumerate(const BlockIndex& block, std::size_t most_downsets) {
  (void)find_or_add(std::vector<std::uint64_t>(words_, 0), block.start_level());
  first_up_.push_back(0);
  for (std::size_t i = 0; i < size(); ++i) {
    if (size() > most_downsets) return false;
    expand(block, DownsetId{static_cast<std::int32_t>(i)});
    first_up_.push_back(steps_.size());
  }
  return true;
}

void DownsetLattice::expand(const BlockIndex& block, DownsetId downset) {
  const auto here = set(downset);
  std::vector<std::uint64_t> now(here.begin(), here.end());  // `here` moves
  const Bytes level = level_[downset];
  for (std::size_t word = 0; word < words_; ++word) {
    for (std::uint64_t left = ~now[word]; left != 0; left &= left - 1) {
      const std::size_t i = 64 * word + static_cast<std::size_t>(std::countr_zero(left));
      if (i >= block.size()) return;
      const BlockTaskId task{static_cast<std::int32_t>(i)};
      if (!is_ready(block, now, task)) continue;
      const Bytes after = level + change(block, now, task);
      const std::uint64_t before = now[word];
      now[word] |= left & (~left + 1);
      steps_.push_back(
          {downset, find_or_add(now, after), task, level + block.cost(task)});
      now[word] = before;
    }
  }
}

DownsetId DownsetLattice::find_or_add(std::span<const std::uint64_t> set_of,
                                      Bytes level) {
  if (2 * (size() + 1) > slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t slot = hash(set_of) & mask;
  for (; slots_[slot] != kNone; slot = (slot + 1) & mask) {
    const auto known = set(slots_[slot]);
    if (std::equal(known.begin(), known.end(), set_of.begin())) return slots_[slot];
  }
  sets_.insert(sets_.end(), set_of.begin(), set_of.end());
  return slots_[slot] = level_.push_back(level);
}

void DownsetLattice::grow() {
  slots_.assign(slots_.empty() ? 64 : 2 * slots_.size(), kNone);
  const std::size_t mask = slots_.size() - 1;
  for (const DownsetId downset : ids()) {
    std::size_t slot = hash(set(downset)) & mask;
    while (slots_[slot] != kNone) slot = (slot + 1) & mask;
    slots_[slot] = downset;
  }
}

void DownsetLattice::list_down() {
  first_down_.assign(size() + 1, 0);
  for (const Step& step : steps_) ++first_down_[index(step.to) + 1];
  for (std::size_t i = 0; i < size(); ++i) first_down_[i + 1] += first_down_[i];
  down_.resize(steps_.size());
  std::vector<std::size_t> end(first_down_.begin(), first_down_.end() - 1);
  for (const DownsetStepId step : steps_.ids()) {
    down_[end[index(steps_[step].to)]++] = step;
  }
}

bool DownsetLattice::is_subset(DownsetId a, DownsetId b) const {
  const auto inner = set(a), outer = set(b);
  for (std::size_t word = 0; word < words_; ++word) {
    if ((inner[word] & ~outer[word]) != 0) return false;
  }
  return true;
}

}  // namespace espalier
