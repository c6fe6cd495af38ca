#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "espalier/model/id_vector.h"
#include "espalier/model/task_tree.h"

namespace espalier {

/// `from` runs before `to`.
struct Arc {
  TaskId from{}, to{};
  friend bool operator==(const Arc&, const Arc&) = default;
};

/// Number of an arc: the caller's first, then those of the two terminals.
enum class ArcId : std::int32_t {};
inline constexpr ArcId kNoArc{-1};

/// One step of reducing a graph to a single arc.
struct Reduction {
  enum class Kind : std::uint8_t {
    kSeries,    ///< `kept` enters `vertex`, `removed` leaves it, nothing else does
    kParallel,  ///< both have the same ends
  };
  Kind kind = Kind::kSeries;
  ArcId kept{};     ///< from now on stands for both arcs, and `vertex`
  ArcId removed{};  ///< does not come again
  TaskId vertex{};  ///< of a series
  Arc ends{};       ///< of `kept`, after the step
};

/// How a graph is put together from its arcs.
struct TwoTerminalDecomposition {
  std::size_t arcs = 0;  ///< those of the two terminals included
  std::vector<Reduction> steps;
  ArcId all = kNoArc;  ///< the arc that is left: the whole graph; kNoArc: of no vertices
};

/// The answer "it is not series-parallel", with what could not be reduced: a graph
/// without two parallel arcs, in which every task has at least three arcs, those from the
/// source and to the sink included. An arc may stand for more than one of the caller's.
struct NotSeriesParallel {
  std::vector<TaskId> tasks;
  std::vector<Arc> arcs;  ///< between `tasks`
  [[nodiscard]] std::string message() const;
};

/// Recognises two-terminal series-parallel graphs [VTL82] and takes them apart.
///
/// A source before and a sink after everything are added: one arc from the source to each
/// vertex that nothing enters, one to the sink from each that nothing leaves. So forests,
/// chains and disjoint unions of series-parallel graphs are series-parallel too. Then, in
/// any order, until neither applies:
///
///   u -> x -> w, nothing else at x   becomes   u -> w    (series)
///   two arcs u -> w                  become    one       (parallel)
///
/// The graph is series-parallel if and only if one arc remains. Arcs may be multiple.
///
/// @param arcs  between vertices 0 … vertices-1, without a cycle; they may also leave the
///              source, vertex `vertices`, and enter the sink, vertex `vertices` + 1
/// @throws InvalidInput for more than 2^29 vertices or 2^30 arcs
/// @par Cost  O(vertices + arcs) expected time: a hash table finds parallel arcs
/// @par Test  TwoTerminal.RecognisesWhatRepeatedSearchDoes
[[nodiscard]] tl::expected<TwoTerminalDecomposition, NotSeriesParallel>
two_terminal_decomposition(std::size_t vertices, std::span<const Arc> arcs);

}  // namespace espalier
