#pragma once

#include <cstdint>

#include "espalier/sharding/plan_table.h"
#include "espalier/sharding/tensor_parallel.h"

namespace espalier {

/// Plans of one operator, by the states of its input and of its output on the mesh; its
/// ways are leaves of that number.
[[nodiscard]] PlanTable operator_table(PlanTables& tables, const ShardingSetting& setting,
                                       const ShardedOperator& op, std::int32_t number);

/// Resharding of a tensor of that many features.
[[nodiscard]] PlanTable reshard_table(PlanTables& tables, const ShardingSetting& setting,
                                      std::int64_t width);

/// Input and output of a are added: both are brought to the state of the sum.
[[nodiscard]] PlanTable add_input(PlanTables& tables, const ShardingSetting& setting,
                                  const PlanTable& a, std::int64_t width);

}  // namespace espalier
