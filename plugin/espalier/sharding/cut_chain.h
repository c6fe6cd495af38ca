#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "espalier/checkpoint/rotor.h"
#include "espalier/model/error.h"

namespace espalier {

/// A chain cut into consecutive parts, one a device, each of which recomputes what does
/// not fit beside the micro-batches under way.
struct ChainCut {
  struct Part {
    std::int64_t first = 0, last = 0;  ///< stages of the chain
    Bytes weights = 0;                 ///< of them, all the time
    Bytes budget = 0;      ///< for each micro-batch under way, its input in it
    Nanoseconds cost = 0;  ///< forward and backward of one micro-batch
  };
  std::vector<Part> parts;
  Nanoseconds longest = 0;  ///< the largest cost of a part: the pace of the pipeline
};

/// Cuts a chain for p devices so that the slowest part is as fast as possible. Part s has
/// k_s micro-batches under way, and each gets the same share of what the weights leave:
///   T(i,t,s) = C(i, t, floor((M - weights(i..t)) / k_s) - x_i)
/// with C from the rotor table of the whole chain, so one table serves every cut. Among
/// cuts of the same longest part the one with the earliest cuts is taken.
///
/// That each micro-batch has the full budget all the time is safe, and more than is
/// needed where parts of them are in different phases.
///
/// @param weights    bytes by stage of the chain
/// @param under_way  k_s by part; as many parts as it has entries
/// @param bound      M, of each device
/// @return Infeasible with the least bound for which there is such a cut: none found, as
///         only persistent schedules are looked at
/// @throws InvalidInput for more parts than stages, none, or negative values
/// @par Cost  O(L^2 p log S)
/// @par Test  CutChain.MatchesEnumerationOnSmallChains
[[nodiscard]] Expected<ChainCut> cut_chain(const RotorTable& table,
                                           std::span<const Bytes> weights,
                                           std::span<const std::int64_t> under_way,
                                           Bytes bound);

}  // namespace espalier
