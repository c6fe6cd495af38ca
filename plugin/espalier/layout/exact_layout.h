#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/layout/layout_budget.h"
#include "espalier/layout/pieces.h"

namespace espalier {

/// Decides whether pieces fit in a capacity, by depth-first search; after the search of
/// minimalloc [Mof23], with restarts.
///
/// Pieces are placed by nondecreasing (offset, rank), each on the highest of those placed
/// that it meets: every layout that cannot be pushed down is met this way. With
///   least(p)   the lowest offset that is left for piece p
///   floor(s)   the lowest of these among the unplaced pieces of section s, and no lower
///              than the last offset
///   rest(s)    sum of the sizes of the unplaced pieces of section s
/// a branch ends where floor(s) + rest(s) > capacity, where the pieces of a section that
/// lie above some address do not fit there, and where a piece would leave a gap that
/// another one fits below. A piece with nothing above it is not placed otherwise. Where
/// nothing unplaced crosses a section any more, the parts are searched by themselves,
/// the tightest first, and one that fails sends the search back to where it was cut off.
///
/// The rank decides how soon a layout is found, not whether. Each restart takes the next
/// of four ranks (by lifetime, by fullest section, by both, by the sections where
/// branches ended so far), shaken, and a larger limit of steps.
class ExactLayout {
 public:
  enum class Answer : std::uint8_t { kFound, kNone, kUnknown };

  /// Sizes must be positive; `pieces` must outlive the search.
  /// @par Cost  O(sum of pieces that meet) memory
  ExactLayout(const Pieces& pieces, std::uint64_t seed);

  /// Searches until `steps` are spent, or the budget is. Restarts go on where the last
  /// call for whatever capacity ended.
  Answer search(Bytes capacity, std::int64_t steps, LayoutBudget& budget);

  /// By piece, after kFound.
  [[nodiscard]] std::span<const Bytes> offsets() const { return offset_; }

 private:
  // Unplaced pieces between two sections, in pool_; canonical order goes on from `offset`
  // and `rank`.
  struct Part {
    std::int32_t first = 0, last = 0;
    std::size_t begin = 0, end = 0;
    Bytes offset = 0;
    std::int32_t rank = -1;
    std::int32_t creator = -1;  // the frame whose piece cut this part off
    std::int32_t next = -1;     // what is to be done after it
  };
  // A choice among candidates for the next piece of a part.
  struct Frame {
    std::int32_t part = 0;
    std::size_t candidate = 0, candidates_end = 0;  // in candidates_
    std::size_t candidates_mark = 0, pool_mark = 0, parts_mark = 0;
    std::size_t least_mark = 0, floor_mark = 0;
    std::int32_t placed = -1;
    bool covers = false;  // something lies above the piece
  };
  template <class T>
  struct Change {
    std::int32_t item;
    T old;
  };

  void rank_pieces();
  void reset(Bytes capacity);
  Answer run(std::int64_t steps, LayoutBudget& budget);
  void open(std::int32_t part);
  bool place_next();
  bool place(Frame& frame, std::int32_t piece, const Part& part);
  bool raise_floors(Bytes top);
  bool fits(const Part& part, Bytes offset);
  void take_back(Frame& frame);
  bool fail();
  std::int32_t cut_off(const Frame& frame);
  std::int32_t add_part(std::int32_t first, std::int32_t last, const Frame& frame);

  const Pieces* pieces_;
  std::uint64_t seed_;
  std::int64_t restarts_ = 0;
  double limit_ = 500;
  Bytes capacity_ = 0;
  std::vector<std::size_t> first_neighbour_, first_alive_;
  std::vector<std::int32_t> neighbours_, alive_;  // by piece; by section
  std::vector<double> blame_;                     // by section: branches that ended there
  std::vector<double> crowd_;                     // by piece: load of its fullest section
  std::vector<std::int32_t> rank_;
  std::vector<Bytes> offset_, least_, floor_, rest_;
  std::vector<std::int32_t> crossing_;  // by section: unplaced that go on into the next
  std::vector<bool> placed_;
  std::vector<std::int32_t> touched_, stamp_;
  std::int32_t now_ = 0;
  std::vector<Change<Bytes>> least_changes_, floor_changes_;
  std::vector<std::int32_t> pool_, candidates_;
  std::vector<Part> parts_;
  std::vector<Frame> frames_;
};

}  // namespace espalier
