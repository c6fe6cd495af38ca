#pragma once

#include <algorithm>
#include <optional>

#include "espalier/solver/results.h"

namespace espalier::solver {

// What is told of several vectors: the worst of each, and the sum of what was done.

inline void keep_worst(Refinement& worst, const Refinement& one) {
  worst.steps = std::max(worst.steps, one.steps);
  worst.gmres_steps += one.gmres_steps;
  worst.backward_error = std::max(worst.backward_error, one.backward_error);
  worst.strict = std::max(worst.strict, one.strict);
}

inline void keep_worst(std::optional<ErrorEstimate>& worst, const ErrorEstimate& one) {
  if (!worst) worst.emplace();
  worst->condition_1norm = std::max(worst->condition_1norm, one.condition_1norm);
  worst->forward_error_bound =
      std::max(worst->forward_error_bound, one.forward_error_bound);
}

inline void keep_worst(Solution& worst, const Solution& one) {
  keep_worst(worst.refinement, one.refinement);
  if (one.errors) keep_worst(worst.errors, *one.errors);
  worst.doubts.singular |= one.doubts.singular;
  worst.doubts.backward_error |= one.doubts.backward_error;
  worst.doubts.forward_error |= one.doubts.forward_error;
  worst.seconds += one.seconds;
  worst.refine_seconds += one.refine_seconds;
}

}  // namespace espalier::solver
