#include "espalier/sharding/operator_tables.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace espalier {

PlanTable operator_table(PlanTables& tables, const ShardingSetting& setting,
                         const ShardedOperator& op, std::int32_t number) {
  const auto states = static_cast<std::size_t>(state_count(setting.mesh));
  std::vector<PlanFront> plans(states * states);
  for (std::size_t w = 0; w < op.ways.size(); ++w) {
    const OperatorWay& way = op.ways[w];
    const std::size_t entry = std::size_t(way.in) * states + std::size_t(way.out);
    plans[entry].push_back(
        {way.cost, way.memory, tables.leaf(number, static_cast<std::int32_t>(w))});
  }
  return tables.given({states, states}, std::move(plans));
}

PlanTable reshard_table(PlanTables& tables, const ShardingSetting& setting,
                        std::int64_t width) {
  const std::int32_t states = state_count(setting.mesh);
  std::vector<PlanFront> plans;
  for (MeshState s = 0; s < states; ++s)
    for (MeshState t = 0; t < states; ++t)
      plans.push_back({{reshard_cost(setting, width, s, t), 0}});
  return tables.given({std::size_t(states), std::size_t(states)}, std::move(plans));
}

PlanTable add_input(PlanTables& tables, const ShardingSetting& setting,
                    const PlanTable& a, std::int64_t width) {
  const PlanTable reshard = reshard_table(tables, setting, width);
  const PlanTable output = tables.chain(a, reshard);
  return tables.join(output, reshard, {output.shape, 2, {0, 1}, {0, 1}});
}

}  // namespace espalier
