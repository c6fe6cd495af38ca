#include "espalier/sharding/keep_sections.h"

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "espalier/model/numbers.h"

namespace espalier {
namespace {

// What variables hold at one section after the other, and what they hold more or less
// than at the last section that was kept.
class Walk {
 public:
  explicit Walk(const Pairwise& problem)
      : problem_(problem),
        held_(problem.costs.size()),
        more_(problem.costs.size()),
        most_(problem.size()),
        events_(problem.room.size() + 1) {
    for (std::size_t v = 0; v < problem.size(); ++v) {
      for (const Pairwise::Hold& hold : problem.holds_of(v)) {
        events_[at(hold.from)].push_back({v, hold.first, true});
        events_[at(hold.to)].push_back({v, hold.first, false});
      }
    }
  }

  void enter(std::size_t section) {
    for (const auto& [v, first, begins] : events_[section]) {
      changed_.push_back(v);
      for (std::size_t s = 0; s < problem_.count(v); ++s) {
        const Bytes usage = problem_.usages[first + s];
        held_[problem_.first_state[v] + s] += begins ? usage : -usage;
        more_[problem_.first_state[v] + s] += begins ? usage : -usage;
      }
    }
    for (const auto& event : events_[section]) judge(event.variable);
  }

  /// The most that may be held, held more, and held less, than at the last one kept.
  [[nodiscard]] Bytes held() const { return sum_.held; }
  [[nodiscard]] Bytes more() const { return sum_.more; }
  [[nodiscard]] Bytes less() const { return sum_.less; }

  void keep() {
    for (const std::size_t v : changed_) {
      std::fill_n(more_.begin() + std::ptrdiff_t(problem_.first_state[v]),
                  problem_.count(v), 0);
      judge(v);
    }
    changed_.clear();
  }

 private:
  struct Most {
    Bytes held = 0, more = 0, less = 0;
  };
  struct Event {
    std::size_t variable, first;  // and its usages
    bool begins;
  };

  void judge(std::size_t v) {
    Most own{};
    for (std::size_t s = problem_.first_state[v]; s < problem_.first_state[v + 1]; ++s) {
      const bool first = s == problem_.first_state[v];
      own.held = std::max(own.held, held_[s]);
      own.more = first ? more_[s] : std::max(own.more, more_[s]);
      own.less = first ? -more_[s] : std::max(own.less, -more_[s]);
    }
    sum_.held += own.held - most_[v].held;
    sum_.more += own.more - most_[v].more;
    sum_.less += own.less - most_[v].less;
    most_[v] = own;
  }

  const Pairwise& problem_;
  std::vector<Bytes> held_, more_;  // by state
  std::vector<Most> most_;          // by variable
  Most sum_;
  std::vector<std::vector<Event>> events_;  // by section
  std::vector<std::size_t> changed_;
};

// What one variable holds, by first and last section; neighbours that are alike are one.
using Piece = std::pair<std::pair<std::int32_t, std::int32_t>, std::vector<Bytes>>;

std::vector<Piece> pieces_of(const Pairwise& problem, std::size_t v) {
  std::vector<Piece> pieces;
  for (const Pairwise::Hold& hold : problem.holds_of(v)) {
    const auto first = problem.usages.begin() + std::ptrdiff_t(hold.first);
    if (hold.from < hold.to)
      pieces.emplace_back(std::pair{hold.from, hold.to},
                          std::vector(first, first + std::ptrdiff_t(problem.count(v))));
  }
  std::ranges::stable_sort(pieces, {}, &Piece::first);
  std::vector<Piece> kept;
  for (Piece& piece : pieces) {
    if (!kept.empty() && kept.back().first == piece.first) {
      for (std::size_t s = 0; s < piece.second.size(); ++s)
        kept.back().second[s] += piece.second[s];
    } else if (!kept.empty() && kept.back().first.second == piece.first.first &&
               kept.back().second == piece.second) {
      kept.back().first.second = piece.first.second;
    } else {
      kept.push_back(std::move(piece));
    }
  }
  return kept;
}

// @param kept  by new section, the old one that it stands for
void renumber(Pairwise& problem, const std::vector<std::int32_t>& kept) {
  const auto number = [&](std::int32_t t) {
    return static_cast<std::int32_t>(std::ranges::lower_bound(kept, t) - kept.begin());
  };
  for (Pairwise::Hold& hold : problem.holds)
    hold = {number(hold.from), number(hold.to), hold.first};
  std::vector<std::size_t> first_hold = {0};
  std::vector<Pairwise::Hold> holds;
  std::vector<Bytes> usages;
  for (std::size_t v = 0; v < problem.size(); ++v) {
    for (const auto& [sections, own] : pieces_of(problem, v)) {
      holds.push_back({sections.first, sections.second, usages.size()});
      usages.insert(usages.end(), own.begin(), own.end());
    }
    first_hold.push_back(holds.size());
  }
  std::tie(problem.first_hold, problem.holds, problem.usages) =
      std::tuple(std::move(first_hold), std::move(holds), std::move(usages));
}

}  // namespace

void keep_sections(Pairwise& problem) {
  Walk walk(problem);
  std::vector<std::int32_t> kept;
  std::vector<Bytes> room;
  for (std::size_t t = 0; t < problem.room.size(); ++t) {
    walk.enter(t);
    const Bytes own = problem.room[t];
    if (own < 0) problem.impossible = true;
    if (walk.held() <= own) continue;
    if (!room.empty() && walk.more() <= own - room.back()) continue;
    if (!room.empty() && walk.less() <= room.back() - own) {
      kept.pop_back();  // whatever exceeds it exceeds this one
      room.pop_back();
    }
    kept.push_back(static_cast<std::int32_t>(t));
    room.push_back(own);
    walk.keep();
  }
  problem.room = std::move(room);
  renumber(problem, kept);
}

}  // namespace espalier
