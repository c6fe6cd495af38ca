#include "espalier/sequential/series_parallel/two_terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {
namespace {

// Arcs by their ends: open addressing, no removal, at most half full.
class ArcTable {
 public:
  // The arc with these ends. If there is none, `arc` is entered and returned.
  ArcId find_or_enter(Arc ends, ArcId arc) {
    if (2 * used_ >= slots_.size()) grow();
    Slot& slot = slot_of(ends);
    if (slot.arc == kNoArc) {
      slot = {ends, arc};
      ++used_;
    }
    return slot.arc;
  }

 private:
  struct Slot {
    Arc ends;
    ArcId arc = kNoArc;
  };

  Slot& slot_of(Arc ends) {
    std::uint64_t hash = static_cast<std::uint64_t>(ends.from) << 32 |
                         static_cast<std::uint64_t>(static_cast<std::uint32_t>(ends.to));
    hash = (hash ^ hash >> 31) * 0x9e3779b97f4a7c15U;
    hash = (hash ^ hash >> 29) * 0xbf58476d1ce4e5b9U;
    std::size_t place = (hash ^ hash >> 32) & (slots_.size() - 1);
    while (slots_[place].arc != kNoArc && slots_[place].ends != ends) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return slots_[place];
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(2 * slots_.size(), 64));
    old.swap(slots_);
    for (const Slot& slot : old) {
      if (slot.arc != kNoArc) slot_of(slot.ends) = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t used_ = 0;
};

// The graph while it shrinks. Of the arcs that enter and leave a vertex only the number
// and the exclusive or of their names are kept: when one is left, that is its name.
class Reducer {
 public:
  Reducer(std::size_t vertices, std::span<const Arc> arcs)
      : vertices_(vertices), ends_(arcs.size()), in_(vertices + 2), out_(vertices + 2) {
    std::copy(arcs.begin(), arcs.end(), ends_.begin());
    for (const ArcId arc : ends_.ids()) count(arc);
    for (std::size_t v = 0; v < vertices; ++v) {
      if (in_[v].number == 0) add({task_id(vertices), task_id(v)});
      if (out_[v].number == 0) add({task_id(v), task_id(vertices + 1)});
    }
    removed_.assign(ends_.size(), 0);
  }

  void reduce() {
    result_.arcs = ends_.size();
    for (const ArcId arc : ends_.ids()) merge(arc);
    for (std::size_t v = 0; v < vertices_; ++v) note(task_id(v));
    while (!ready_.empty()) {
      const TaskId vertex = ready_.back();
      ready_.pop_back();
      shorten(vertex);
    }
  }

  tl::expected<TwoTerminalDecomposition, NotSeriesParallel> result() && {
    if (result_.steps.size() + 1 == ends_.size()) {
      const auto left = std::find(removed_.begin(), removed_.end(), 0);
      result_.all = ArcId{static_cast<std::int32_t>(left - removed_.begin())};
    }
    if (result_.steps.size() + 1 >= ends_.size()) return std::move(result_);
    NotSeriesParallel core;
    for (std::size_t v = 0; v < vertices_; ++v) {
      if (in_[v].number > 0) core.tasks.push_back(task_id(v));
    }
    for (const ArcId arc : ends_.ids()) {
      const Arc ends = ends_[arc];
      if (removed_[arc] == 0 && index(ends.from) < vertices_ &&
          index(ends.to) < vertices_) {
        core.arcs.push_back(ends);
      }
    }
    return tl::unexpected(std::move(core));
  }

 private:
  struct Incidence {
    std::int32_t number = 0, names = 0;  // of arcs
  };

  static std::int32_t name(ArcId arc) { return static_cast<std::int32_t>(arc); }
  void add(Arc arc) { count(ends_.push_back(arc)); }

  void count(ArcId arc) {
    const Arc ends = ends_[arc];
    for (Incidence* at : {&out_[index(ends.from)], &in_[index(ends.to)]}) {
      ++at->number;
      at->names ^= name(arc);
    }
  }

  void note(TaskId vertex) {
    const std::size_t v = index(vertex);
    if (v < vertices_ && in_[v].number == 1 && out_[v].number == 1) {
      ready_.push_back(vertex);
    }
  }

  // Removes the arc if there is another with its ends. The only arc that enters or leaves
  // a vertex has none beside it, now and later, and need not be entered in the table.
  void merge(ArcId arc) {
    const Arc ends = ends_[arc];
    Incidence& out = out_[index(ends.from)];
    Incidence& in = in_[index(ends.to)];
    if (out.number == 1 || in.number == 1) return;
    const ArcId other = table_.find_or_enter(ends, arc);
    if (other == arc) return;
    for (Incidence* at : {&out, &in}) {
      --at->number;
      at->names ^= name(arc);
    }
    removed_[arc] = 1;
    result_.steps.push_back({Reduction::Kind::kParallel, other, arc, {}, ends});
  }

  // The series reduction at a vertex, and the parallel one that may follow.
  void shorten(TaskId vertex) {
    Incidence& in = in_[index(vertex)];
    Incidence& out = out_[index(vertex)];
    const ArcId kept{in.names}, gone{out.names};
    const TaskId from = ends_[kept].from;
    const TaskId to = ends_[gone].to;
    ends_[kept].to = to;
    in_[index(to)].names ^= name(gone) ^ name(kept);
    removed_[gone] = 1;
    in = out = {};
    result_.steps.push_back({Reduction::Kind::kSeries, kept, gone, vertex, {from, to}});
    const std::size_t before = result_.steps.size();
    merge(kept);
    if (result_.steps.size() == before) return;  // no degree has changed
    note(from);
    if (to != from) note(to);
  }

  std::size_t vertices_;
  IdVector<ArcId, Arc> ends_;
  std::vector<Incidence> in_, out_;
  IdVector<ArcId, std::uint8_t> removed_;
  std::vector<TaskId> ready_;
  ArcTable table_;
  TwoTerminalDecomposition result_;
};

}  // namespace

std::string NotSeriesParallel::message() const {
  constexpr std::size_t kNamed = 4;
  std::string names;
  for (std::size_t k = 0; k < std::min(kNamed, arcs.size()); ++k) {
    names += fmt::format("{}{} -> {}", k == 0 ? "" : ", ",
                         static_cast<std::int32_t>(arcs[k].from),
                         static_cast<std::int32_t>(arcs[k].to));
  }
  return fmt::format(
      "not series-parallel: {} tasks and {} arcs remain that no reduction applies to: "
      "{}{}",
      tasks.size(), arcs.size(), names, arcs.size() > kNamed ? ", …" : "");
}

tl::expected<TwoTerminalDecomposition, NotSeriesParallel> two_terminal_decomposition(
    std::size_t vertices, std::span<const Arc> arcs) {
  constexpr auto kMost =
      static_cast<std::size_t>(std::numeric_limits<std::int32_t>::max());
  // The two terminals add an arc to or from a vertex at most twice.
  if (vertices > kMost / 4 || arcs.size() > kMost / 2)
    throw InvalidInput(
        fmt::format("{} tasks and {} arcs are too many", vertices, arcs.size()));
  Reducer reducer(vertices, arcs);
  reducer.reduce();
  return std::move(reducer).result();
}

}  // namespace espalier
