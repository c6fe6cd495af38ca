#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "espalier/model/replay.h"
#include "espalier/model/task_graph.h"
#include "espalier/report/memory_chart.h"

namespace espalier::report {

/// Parts of the memory of a graph, as MemoryChart::part has them.
enum class GraphPart : std::uint8_t {
  kWritten,    ///< data that operators have written
  kWorkspace,  ///< of the operator that runs
  kInitial     ///< data without a producer
};

/// A datum that is in memory while the operator at the peak runs.
struct HeldDatum {
  DatumId datum{};
  /// position in the order of its next reader; none: nobody reads it any more
  std::optional<std::size_t> next_reader;
};

/// An order of a graph from far and, around its peak, from near.
struct GraphPicture {
  Replay replay;  ///< without its profile
  MemoryChart whole, peak;
  std::vector<HeldDatum> held;       ///< at the first peak, by decreasing size
  std::vector<Bytes> while_running;  ///< by position: in memory while that operator runs
};

/// @throws InvalidInput as replay()
/// @par Cost  O((operators + data + reads) + data log data)
/// @par Test  GraphPicture.HighAndLowAreThoseOfTheProfile
[[nodiscard]] GraphPicture picture_of(const TaskGraph& graph,
                                      std::span<const TaskId> order);

}  // namespace espalier::report
