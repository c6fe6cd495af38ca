#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/training/arrange.h"
#include "espalier/training/training_graph.h"

namespace espalier {

/// A training step in which forward operators run again rather than that their results
/// are kept.
struct RecomputedStep {
  TrainingGraph step;  ///< operators that run again are named "NAME/again"
  TaskGraph graph;
  Arrangement plan;
  /// What stays and the operator that needs most beside it: no schedule needs less,
  /// whatever it runs again.
  Bytes lower_bound_bytes = 0;
  std::size_t stages = 0;
  Flops work = 0;             ///< of the step as it was
  Flops recomputed_work = 0;  ///< on top of that
  std::size_t recomputed_operators = 0;
};

struct RecomputeLimits {
  std::size_t most_stages = 64;
  /// Called now and then. False: stop, with the best so far.
  std::function<bool()> progress = {};
  LayoutOptions layout;
};

/// The cheapest way to run a step inside a bound, of those that recompute whole stages of
/// its backbone (backbone.h) as a persistent schedule of the chain does (RotorTable). The
/// stages' memory is estimated; what is planned is then laid out, and the cheapest
/// schedule whose arena is inside the bound is taken.
///
/// @param model, options  as for training_graph()
/// @param bound  bytes of the arena, parameters and all; nothing: as few as can be
/// @return Infeasible when no such schedule fits: none found, with the least that does
[[nodiscard]] Expected<RecomputedStep> recompute(const OperatorGraph& model,
                                                 const TrainingOptions& options,
                                                 std::optional<Bytes> bound,
                                                 const RecomputeLimits& limits = {});

}  // namespace espalier
