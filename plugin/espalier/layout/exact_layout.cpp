// One search with what it undoes on the way back: over 300 lines, since no part of it is
// of use without the others' state.

#include "espalier/layout/exact_layout.h"

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "espalier/layout/random.h"
#include "espalier/model/numbers.h"

namespace espalier {
namespace {

constexpr std::int64_t kRanks = 4;
constexpr double kGrowth = 1.3;  // of the limit, every kRanks restarts

}  // namespace

ExactLayout::ExactLayout(const Pieces& pieces, std::uint64_t seed)
    : pieces_(&pieces), seed_(seed) {
  const std::size_t n = pieces.size(), sections = at(pieces.sections);
  first_alive_.assign(sections + 1, 0);
  std::vector<std::vector<std::int32_t>> alive(sections);
  for (std::size_t p = 0; p < n; ++p) {
    for (std::int32_t s = pieces.list[p].first; s <= pieces.list[p].last; ++s)
      alive[at(s)].push_back(static_cast<std::int32_t>(p));
  }
  for (std::size_t s = 0; s < sections; ++s) {
    alive_.insert(alive_.end(), alive[s].begin(), alive[s].end());
    first_alive_[s + 1] = alive_.size();
  }
  first_neighbour_.assign(n + 1, 0);
  for (std::size_t p = 0; p < n; ++p) {
    for (std::size_t q = 0; q < n; ++q) {
      if (p != q && meet(pieces.list[p], pieces.list[q]))
        neighbours_.push_back(static_cast<std::int32_t>(q));
    }
    first_neighbour_[p + 1] = neighbours_.size();
  }
  blame_.assign(sections, 1);
  stamp_.assign(sections, 0);
  const std::vector<Bytes> load = loads(pieces);
  crowd_.assign(n, 0);
  for (std::size_t p = 0; p < n; ++p) {
    for (std::int32_t s = pieces.list[p].first; s <= pieces.list[p].last; ++s)
      crowd_[p] = std::max(crowd_[p], static_cast<double>(load[at(s)]));
  }
}

// Keys of the next rank, larger first; all but the first restarts are shaken.
void ExactLayout::rank_pieces() {
  const std::size_t n = pieces_->size();
  Random random(seed_ + static_cast<std::uint64_t>(restarts_) * 1000003);
  const auto kind = restarts_ % kRanks;
  const bool shaken = restarts_ >= kRanks;
  std::vector<std::array<double, 3>> key(n);
  for (std::size_t p = 0; p < n; ++p) {
    const Piece& piece = pieces_->list[p];
    const double shake = shaken ? random.factor(0.3) : 1;
    const auto life = static_cast<double>(piece.length);
    const double area = life * static_cast<double>(piece.size);
    double blame = 0;
    for (std::int32_t s = piece.first; s <= piece.last && kind == 3; ++s)
      blame = std::max(blame, blame_[at(s)]);
    if (kind == 0) key[p] = {life * shake, area, crowd_[p]};
    if (kind == 1) key[p] = {crowd_[p] * shake, area, life};
    if (kind == 2) key[p] = {crowd_[p], life * shake, area};
    if (kind == 3) key[p] = {blame * static_cast<double>(piece.size) * shake, area, life};
  }
  std::vector<std::int32_t> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::ranges::sort(order, [&](std::int32_t a, std::int32_t b) {
    return key[at(a)] != key[at(b)] ? key[at(a)] > key[at(b)] : a < b;
  });
  rank_.resize(n);
  for (std::size_t k = 0; k < n; ++k) rank_[at(order[k])] = static_cast<std::int32_t>(k);
}

void ExactLayout::reset(Bytes capacity) {
  const std::size_t n = pieces_->size(), sections = at(pieces_->sections);
  capacity_ = capacity;
  offset_.assign(n, 0);
  least_.assign(n, 0);
  placed_.assign(n, false);
  floor_.assign(sections, 0);
  rest_ = loads(*pieces_);
  crossing_.assign(sections, 0);
  for (const Piece& piece : pieces_->list) {
    for (std::int32_t s = piece.first; s < piece.last; ++s) ++crossing_[at(s)];
  }
  least_changes_.clear();
  floor_changes_.clear();
  candidates_.clear();
  frames_.clear();
  pool_.resize(n);
  std::iota(pool_.begin(), pool_.end(), 0);
  parts_.assign(1, {0, pieces_->sections - 1, 0, n});
}

ExactLayout::Answer ExactLayout::search(Bytes capacity, std::int64_t steps,
                                        LayoutBudget& budget) {
  if (pieces_->list.empty()) return Answer::kFound;
  if (load(*pieces_) > capacity) return Answer::kNone;
  for (std::int64_t left = steps; left > 0;) {
    rank_pieces();
    reset(capacity);
    const auto limit = std::min(left, static_cast<std::int64_t>(limit_));
    const Answer answer = run(limit, budget);
    if (answer != Answer::kUnknown || budget.was_spent()) return answer;
    left -= limit;
    if (++restarts_ % kRanks == 0) limit_ *= kGrowth;
  }
  return Answer::kUnknown;
}

ExactLayout::Answer ExactLayout::run(std::int64_t steps, LayoutBudget& budget) {
  std::int32_t part = 0;
  // What a step costs grows with the pieces; the budget counts some 100 of them.
  const auto cost = 1 + static_cast<std::int64_t>(pieces_->size()) / 8;
  while (part >= 0) {
    open(part);
    if (--steps < 0 || budget.spend(cost)) return Answer::kUnknown;
    while (!place_next()) {
      if (!fail()) return Answer::kNone;
    }
    part = cut_off(frames_.back());
  }
  return Answer::kFound;
}

// A frame with the candidates of a part, in order of (offset, rank).
void ExactLayout::open(std::int32_t number) {
  const Part& part = parts_[at(number)];
  Frame frame;
  frame.part = number;
  frame.candidates_mark = frame.candidate = candidates_.size();
  Bytes lowest_end = std::numeric_limits<Bytes>::max();
  for (std::size_t k = part.begin; k < part.end; ++k) {
    const std::size_t p = at(pool_[k]);
    lowest_end =
        std::min(lowest_end, std::max(least_[p], part.offset) + pieces_->list[p].size);
  }
  for (std::size_t k = part.begin; k < part.end; ++k) {
    const std::size_t p = at(pool_[k]);
    const bool later =
        least_[p] > part.offset || (least_[p] == part.offset && rank_[p] > part.rank);
    if (later && least_[p] < lowest_end) candidates_.push_back(pool_[k]);
  }
  frame.candidates_end = candidates_.size();
  std::sort(candidates_.begin() + static_cast<std::ptrdiff_t>(frame.candidate),
            candidates_.end(), [&](std::int32_t a, std::int32_t b) {
              return std::pair(least_[at(a)], rank_[at(a)]) <
                     std::pair(least_[at(b)], rank_[at(b)]);
            });
  frames_.push_back(frame);
}

// Places the next candidate of the last frame that may fit; false when there is none.
bool ExactLayout::place_next() {
  Frame& frame = frames_.back();
  const Part part = parts_[at(frame.part)];
  while (frame.candidate < frame.candidates_end) {
    const std::int32_t piece = candidates_[frame.candidate++];
    if (!fits(part, least_[at(piece)])) break;  // nor will those above
    if (place(frame, piece, part)) return true;
    take_back(frame);
    if (!frame.covers) break;
  }
  return false;
}

bool ExactLayout::place(Frame& frame, std::int32_t number, const Part& part) {
  const std::size_t p = at(number);
  const Piece& piece = pieces_->list[p];
  const Bytes top = least_[p] + piece.size;
  frame.placed = number;
  frame.covers = false;
  frame.pool_mark = pool_.size();
  frame.parts_mark = parts_.size();
  frame.least_mark = least_changes_.size();
  frame.floor_mark = floor_changes_.size();
  offset_[p] = least_[p];
  placed_[p] = true;
  ++now_;
  touched_.clear();
  const auto touch = [&](const Piece& changed) {
    for (std::int32_t s = changed.first; s <= changed.last; ++s) {
      if (stamp_[at(s)] == now_) continue;
      stamp_[at(s)] = now_;
      touched_.push_back(s);
    }
  };
  for (std::int32_t s = piece.first; s <= piece.last; ++s) rest_[at(s)] -= piece.size;
  for (std::int32_t s = piece.first; s < piece.last; ++s) --crossing_[at(s)];
  touch(piece);
  for (std::size_t k = first_neighbour_[p]; k < first_neighbour_[p + 1]; ++k) {
    const std::int32_t above = neighbours_[k];
    if (placed_[at(above)] || least_[at(above)] >= top) continue;
    least_changes_.push_back({above, least_[at(above)]});
    least_[at(above)] = top;
    frame.covers = true;
    touch(pieces_->list[at(above)]);
  }
  return raise_floors(top) && fits(part, offset_[p]);
}

// Floors of the sections that were touched; false where the pieces that cannot lie below
// `top` do not fit above it.
bool ExactLayout::raise_floors(Bytes top) {
  for (const std::int32_t number : touched_) {
    const std::size_t s = at(number);
    if (rest_[s] == 0) continue;
    Bytes lowest = std::numeric_limits<Bytes>::max(), above = 0;
    for (std::size_t k = first_alive_[s]; k < first_alive_[s + 1]; ++k) {
      const std::size_t p = at(alive_[k]);
      if (placed_[p]) continue;
      lowest = std::min(lowest, least_[p]);
      above += least_[p] >= top ? pieces_->list[p].size : 0;
    }
    if (lowest > floor_[s]) {
      floor_changes_.push_back({number, floor_[s]});
      floor_[s] = lowest;
    }
    if (above > 0 && above > capacity_ - top) {
      blame_[s] += 1;
      return false;
    }
  }
  return true;
}

// Whether all that is unplaced can lie at `offset` or above.
bool ExactLayout::fits(const Part& part, Bytes offset) {
  for (std::int32_t s = part.first; s <= part.last; ++s) {
    if (std::max(floor_[at(s)], offset) + rest_[at(s)] <= capacity_) continue;
    if (rest_[at(s)] == 0) continue;
    blame_[at(s)] += 1;
    return false;
  }
  return true;
}

void ExactLayout::take_back(Frame& frame) {
  const std::size_t p = at(frame.placed);
  const Piece& piece = pieces_->list[p];
  for (; least_changes_.size() > frame.least_mark; least_changes_.pop_back())
    least_[at(least_changes_.back().item)] = least_changes_.back().old;
  for (; floor_changes_.size() > frame.floor_mark; floor_changes_.pop_back())
    floor_[at(floor_changes_.back().item)] = floor_changes_.back().old;
  placed_[p] = false;
  for (std::int32_t s = piece.first; s <= piece.last; ++s) rest_[at(s)] += piece.size;
  for (std::int32_t s = piece.first; s < piece.last; ++s) ++crossing_[at(s)];
  pool_.resize(frame.pool_mark);
  parts_.resize(frame.parts_mark);
  frame.placed = -1;
}

// The part of the last frame does not fit: back to the frame that cut it off, over those
// of parts beside it. False when there is none.
bool ExactLayout::fail() {
  const std::int32_t creator = parts_[at(frames_.back().part)].creator;
  while (static_cast<std::int32_t>(frames_.size()) > creator + 1) {
    if (frames_.back().placed >= 0) take_back(frames_.back());
    candidates_.resize(frames_.back().candidates_mark);
    frames_.pop_back();
  }
  if (creator < 0) return false;
  Frame& frame = frames_.back();
  take_back(frame);
  if (!frame.covers) frame.candidate = frame.candidates_end;
  return true;
}

// The parts that the piece just placed leaves, in front of what was to be done after its
// own part; the first to be done, or -1.
std::int32_t ExactLayout::cut_off(const Frame& frame) {
  const Part part = parts_[at(frame.part)];
  const Piece& piece = pieces_->list[at(frame.placed)];
  std::vector<std::int32_t> fresh;
  std::int32_t first = part.first;
  const auto close = [&](std::int32_t last) {
    const std::int32_t number = add_part(first, last, frame);
    if (number >= 0) fresh.push_back(number);
    first = last + 1;
  };
  for (std::int32_t s = piece.first; s < piece.last; ++s)
    if (crossing_[at(s)] == 0) close(s);
  close(part.last);
  const auto slack = [&](std::int32_t number) {
    double least = std::numeric_limits<double>::max();
    for (std::int32_t s = parts_[at(number)].first; s <= parts_[at(number)].last; ++s) {
      if (rest_[at(s)] == 0) continue;
      const Bytes free = capacity_ - floor_[at(s)] - rest_[at(s)];
      least = std::min(least, static_cast<double>(free) / blame_[at(s)]);
    }
    return least;
  };
  if (fresh.size() > 1) {
    std::vector<std::pair<double, std::int32_t>> keyed;
    for (const std::int32_t number : fresh) keyed.emplace_back(slack(number), number);
    std::ranges::sort(keyed, std::greater<>());
    std::ranges::transform(keyed, fresh.begin(),
                           &std::pair<double, std::int32_t>::second);
  }
  std::int32_t next = part.next;
  for (const std::int32_t number : fresh) {
    parts_[at(number)].next = next;
    next = number;
  }
  return next;
}

std::int32_t ExactLayout::add_part(std::int32_t first, std::int32_t last,
                                   const Frame& frame) {
  const Part from = parts_[at(frame.part)];
  Part part{first, last, pool_.size(), 0};
  for (std::size_t k = from.begin; k < from.end; ++k) {
    const std::int32_t p = pool_[k];
    const Piece& piece = pieces_->list[at(p)];
    if (!placed_[at(p)] && piece.first >= first && piece.last <= last) pool_.push_back(p);
  }
  part.end = pool_.size();
  if (part.begin == part.end) return -1;
  part.offset = offset_[at(frame.placed)];
  part.rank = rank_[at(frame.placed)];
  part.creator = static_cast<std::int32_t>(frames_.size()) - 1;
  parts_.push_back(part);
  return static_cast<std::int32_t>(parts_.size()) - 1;
}

}  // namespace espalier
