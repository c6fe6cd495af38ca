#include "espalier/sharding/strategy_tables.h"

#include <algorithm>
#include <utility>

#include "espalier/model/numbers.h"
#include "espalier/model/units.h"

namespace espalier {
namespace {

enum Table : int { kInputTable, kProductTable, kLocalTable };

OperatorUnits units_of(const SpreadTensor& tensor) {
  return {tensor.samples, tensor.features};
}

void add(StrategyTable& table, std::pair<MeshState, MeshState> states, Cost cost,
         Bytes held, std::string name) {
  table.in.push_back(states.first);
  table.out.push_back(states.second);
  table.costs.push_back(cost);
  table.usages.push_back(held);
  table.names.push_back(std::move(name));
}

}  // namespace

// A state that spreads what cannot be spread is left out.
bool StrategyTables::can_lie(const OperatorUnits& units, MeshState state) const {
  for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
    const AxisState on = on_axis(state, a);
    if (on == AxisState::kBatch && units.samples <= 1) return false;
    if (on == AxisState::kFeatures && units.features <= 1) return false;
  }
  return true;
}

// An input of the model, or what is computed from constants alone.
StrategyTable StrategyTables::input(const SpreadTensor& tensor) const {
  StrategyTable table;
  for (MeshState state = 0; state < state_count(mesh_); ++state)
    if (can_lie(units_of(tensor), state))
      add(table, {state, state}, 0,
          bytes_of(tensor.bytes * tensor_share(mesh_, tensor, state)),
          describe_state(mesh_, state));
  return table;
}

StrategyTable StrategyTables::product(const WeightProduct& product) const {
  StrategyTable table;
  for (const OperatorWay& way : product_ways(mesh_, product, device_)) {
    if (!can_lie(units_of(product.in), way.in) ||
        !can_lie(units_of(product.out), way.out))
      continue;
    const double share = tensor_share(mesh_, product.out, way.out);
    add(table, {way.in, way.out}, way.cost,
        checked_add(way.memory, bytes_of(product.out.bytes * share)), way.name);
  }
  return table;
}

StrategyTable StrategyTables::local(const LocalWork& work) const {
  StrategyTable table;
  const SpreadTensor result{work.units.samples, work.units.features, work.work_bytes};
  for (MeshState state = 0; state < state_count(mesh_); ++state) {
    if (!can_lie(work.units, state)) continue;
    const double part = tensor_share(mesh_, result, state);
    const double own =
        work.parameters * tensor_share(mesh_, {1, work.units.features, 0}, state);
    Seconds seconds = work.flops * part / device_.flops_a_second;
    for (std::size_t a = 0; a < mesh_.axes.size() && work.parameters > 0; ++a)
      if (on_axis(state, a) == AxisState::kBatch)
        seconds += all_reduce_time(own * device_.bytes_a_gradient, mesh_.axes[a].devices,
                                   mesh_.axes[a].link);
    add(table, {state, state}, cost_of(seconds),
        bytes_of(own * device_.bytes_a_parameter + work.result_bytes * part),
        describe_state(mesh_, state));
  }
  return table;
}

template <class Make>
std::int32_t StrategyTables::numbered(const Key& key, Make make) {
  const auto [found, fresh] =
      numbers_.try_emplace(key, static_cast<std::int32_t>(strategies_.size()));
  if (fresh) strategies_.push_back(make());
  return found->second;
}

std::int32_t StrategyTables::of_input(const SpreadTensor& tensor) {
  return numbered({kInputTable, {tensor.samples, tensor.features}, {tensor.bytes}},
                  [&] { return input(tensor); });
}

std::int32_t StrategyTables::of_product(const WeightProduct& of) {
  return numbered({kProductTable,
                   {of.in.samples, of.in.features, of.out.samples, of.out.features},
                   {of.in.bytes, of.out.bytes, of.parameters, of.flops}},
                  [&] { return product(of); });
}

std::int32_t StrategyTables::of_local(const LocalWork& work) {
  return numbered({kLocalTable,
                   {work.units.samples, work.units.features},
                   {work.result_bytes, work.work_bytes, work.parameters, work.flops}},
                  [&] { return local(work); });
}

// The state of an input for a result in that state: what is broadcast along an extent
// is whole along it.
MeshState StrategyTables::needed(const ReadTensor& read, MeshState state) const {
  if (read.as_it_is) return state;
  for (std::size_t a = 0; a < mesh_.axes.size(); ++a) {
    const bool kept =
        on_axis(state, a) == AxisState::kBatch ? read.same_samples : read.same_features;
    if (!read.of_same_rank || !kept) state = with_axis(state, a, AxisState::kWhole);
  }
  return state;
}

const std::vector<Cost>& StrategyTables::resharding(const SpreadTensor& tensor) {
  const auto [found, fresh] =
      reshardings_.try_emplace(Key{0, {tensor.samples, tensor.features}, {tensor.bytes}});
  if (fresh)
    for (MeshState a = 0; a < state_count(mesh_); ++a)
      for (MeshState b = 0; b < state_count(mesh_); ++b)
        found->second.push_back(reshard_cost(mesh_, tensor, a, b));
  return found->second;
}

// Equal costs have one number, whatever they follow from.
std::int32_t StrategyTables::number_of(std::vector<Cost> costs) {
  const auto known = std::ranges::find(edges_, costs);
  if (known == edges_.end()) {
    edges_.push_back(std::move(costs));
    return static_cast<std::int32_t>(edges_.size()) - 1;
  }
  return static_cast<std::int32_t>(known - edges_.begin());
}

std::int32_t StrategyTables::of_edge(std::int32_t from, std::int32_t to,
                                     const ReadTensor& read) {
  const int flags = (read.as_it_is ? 1 : 0) | (read.of_same_rank ? 2 : 0) |
                    (read.same_samples ? 4 : 0) | (read.same_features ? 8 : 0);
  const Key key{
      flags, {from, to, read.tensor.samples, read.tensor.features}, {read.tensor.bytes}};
  const auto [found, fresh] = edge_numbers_.try_emplace(key, 0);
  if (!fresh) return found->second;
  const std::vector<Cost>& known = resharding(read.tensor);
  std::vector<Cost> costs;
  for (const MeshState out : strategies(from).out)
    for (const MeshState in : strategies(to).in)
      costs.push_back(known[at(out * state_count(mesh_) + needed(read, in))]);
  return found->second = number_of(std::move(costs));
}

}  // namespace espalier
