#pragma once

#include <cstdint>
#include <span>

#include "espalier/parallel/graph_admission.h"
#include "espalier/parallel/simulate.h"

namespace espalier {

/// Runs the graph on P equal workers, event by event: whenever workers are idle, the
/// candidates are tried by decreasing priority (ties: smallest id), and each that may
/// start takes one worker for as long as its work. After kTried refusals in a row the
/// rest is not tried before something else happens, unless nothing runs.
///
/// Operators that end at the same time end in order of id, before any other starts.
///
/// @param priority  empty: path_weights()
/// @return `peak` of what is in memory; `schedule.sequence` is the order of the starts
/// @throws InvalidInput for workers < 1 or a priority of another length than the graph;
///                      Error when operators are left and none may start
/// @par Cost  O(n log n) and kTried tries an event
/// @par Test  SimulateGraph.*
[[nodiscard]] Simulation simulate(const TaskGraph& graph, GraphAdmission& admission,
                                  std::int32_t workers,
                                  std::span<const Seconds> priority = {});

}  // namespace espalier
