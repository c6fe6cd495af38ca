#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/sharding_problem.h"
#include "espalier/sharding/tensor_parallel.h"

namespace espalier {

/// Operators one after the other; with `residual`, what came in is added to what comes
/// out, which then has as many features.
struct ModelPart {
  std::vector<ShardedOperator> operators;
  bool residual = false;
};

/// A model as parts one after the other. Each distinct part stands once in `parts`.
struct ShardedModel {
  ShardingSetting setting;
  std::vector<ModelPart> parts;
  std::vector<std::int32_t> sequence;  ///< numbers in `parts`
  std::int64_t out_width = 0;          ///< features of what comes out at the end
};

/// A way for each operator of each part of the sequence.
struct ModelShards {
  bool found = false;
  Cost cost = 0;         ///< picoseconds of a step
  Cost lower_bound = 0;  ///< no plan within the limit costs less
  Bytes memory_bytes = 0;
  Bytes least_memory_bytes = 0;  ///< no plan holds less (a bound when thinned)
  std::vector<std::vector<std::int32_t>> ways;  ///< by part of the sequence, by operator
  /// Runs of parts that were found to repeat: each was searched once.
  std::int64_t distinct_parts = 0;
  [[nodiscard]] bool proved() const { return found && cost == lower_bound; }
};

/// The least time of a step with at most `limit` bytes on each device.
///
/// Parts are series-parallel, so that dynamic programming over the states of what goes
/// from part to part is exact (PlanTables); runs of parts that repeat are put together
/// once and raised to their power. Where the fastest plan does not fit, prices of memory
/// bound what any plan costs, and fronts of cost against memory give plans that fit:
/// exact unless they had to be thinned.
///
/// @param fold  false: every part by itself, for tests
/// @par Cost  states^3 for each distinct part and for the logarithm of each repetition
/// @par Test  equals enumeration and choose_strategies() on small models
[[nodiscard]] ModelShards shard_model(const ShardedModel& model, Bytes limit,
                                      bool fold = true);

/// The same question for choose_strategies(): a node for each operator and sum, memory
/// held throughout.
[[nodiscard]] ShardingProblem problem_of(const ShardedModel& model, Bytes limit);

struct Transformer {
  std::int64_t layers = 0, width = 0, heads = 0, vocabulary = 0, tokens_a_sequence = 0;
};

/// gpt2, gpt2-medium, gpt2-large, gpt2-xl. @throws InvalidInput with the names
[[nodiscard]] Transformer transformer_named(std::string_view name);

/// Blocks of attention and of a perceptron four times as wide, each behind a
/// normalisation and beside a residual connection, and the vocabulary at the end.
/// `setting.tokens_a_sequence` is the transformer's.
/// @throws InvalidInput for a size below 1
[[nodiscard]] ShardedModel sharded_transformer(const Transformer& transformer,
                                               ShardingSetting setting);

}  // namespace espalier
