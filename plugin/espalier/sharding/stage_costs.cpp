#include "espalier/sharding/stage_costs.h"

#include <algorithm>
#include <cmath>

#include "espalier/model/error.h"

namespace espalier {

namespace {

constexpr double kMostNanoseconds = 0x1p60;

Nanoseconds nanoseconds(Seconds time) {
  const double value = std::round(time * 1e9);
  if (!(value < kMostNanoseconds))
    throw OverflowError("a time of the training step leaves the 64-bit range");
  return static_cast<Nanoseconds>(value);
}

bool holds(const StagePart& part, std::int64_t layer) {
  return part.first <= layer && layer <= part.last;
}

}  // namespace

Bytes StageMemory::peak(std::int64_t under_way) const {
  const Bytes others = checked_mul(kept, under_way - 1);
  return checked_add(fixed(), checked_add(others, std::max(forward_peak, backward_peak)));
}

StageCosts::StageCosts(const LayeredModel& model, const StageSetting& setting)
    : model_(model), setting_(setting) {
  for (const Layer& layer : model.kinds) kinds_.push_back(kind_of(layer));
}

Seconds StageCosts::seconds(const Layer& layer, const LayerOperator& op) const {
  const Cluster& cluster = setting_.cluster;
  Bytes moved = op.parameter_bytes;
  for (const auto* tensors : {&op.reads, &op.writes})
    for (const std::int32_t tensor : *tensors)
      moved = checked_add(moved, layer.tensors[static_cast<std::size_t>(tensor)].size);
  const Seconds own = std::max(op.flops / cluster.rate,
                               static_cast<double>(moved) / cluster.memory_bandwidth);
  if (op.reduced == 0) return own;
  return own + all_reduce_time(double(op.reduced), setting_.tensor,
                               cluster.link(setting_.tensor, 1));
}

StageCosts::Kind StageCosts::kind_of(const Layer& layer) const {
  Kind kind;
  kind.needs_input = needs_input(layer);
  kind.needs_output = needs_output(layer);
  const std::vector<std::int32_t> again = recomputed_operators(layer);
  kind.recomputes = !again.empty();
  for (const bool recomputed : {false, true})
    for (const bool stays : {false, true})
      kind.memory[recomputed][stays] = layer_memory(layer, {recomputed, stays});
  Seconds forward = 0, backward = 0, once_more = 0;
  for (const LayerOperator& op : layer.forward) forward += seconds(layer, op);
  for (const LayerOperator& op : layer.backward) backward += seconds(layer, op);
  for (const std::int32_t k : again)
    once_more += seconds(layer, layer.forward[static_cast<std::size_t>(k)]);
  kind.forward = nanoseconds(forward);
  kind.backward = nanoseconds(backward);
  kind.again = nanoseconds(once_more);

  const std::int32_t n = setting_.data;
  if (n == 1) return kind;
  const Link& link = setting_.cluster.link(n, setting_.tensor);
  const std::int64_t elements = setting_.zero == ZeroStage::kNone
                                    ? layer.parameters
                                    : padded_elements(layer.parameters, n);
  const Bytes parameters = checked_mul(elements, setting_.optimiser.parameter);
  const Bytes gradients = checked_mul(elements, setting_.optimiser.gradient);
  if (setting_.zero >= ZeroStage::kParameters) {
    kind.parameters = parameters;
    kind.gather = nanoseconds(all_gather_time(double(parameters), n, link));
  }
  if (setting_.zero >= ZeroStage::kGradients) {
    kind.gradients = gradients;
    kind.reduce = nanoseconds(all_gather_time(double(gradients), n, link));
  } else {
    kind.last_reduce = nanoseconds(setting_.zero == ZeroStage::kStates
                                       ? all_gather_time(double(gradients), n, link)
                                       : all_reduce_time(double(gradients), n, link));
  }
  return kind;
}

bool StageCosts::input_stays(const StagePart& part, std::int64_t i) const {
  const bool recomputed = i - part.first < part.recomputed;
  return at(i).needs_input || (recomputed && at(i).recomputes) ||
         (i > part.first && at(i - 1).needs_output);
}

Bytes StageCosts::kept(std::int64_t i, bool recomputed) const {
  return at(i).memory[recomputed][true].kept;
}

std::vector<std::int64_t> StageCosts::units(const StagePart& part) const {
  std::vector<std::int64_t> units;
  for (std::int64_t i = part.first; i <= part.last; ++i)
    units.push_back(model_.layer(i).parameters);
  for (const LayeredModel::Tie& tie : model_.ties)
    if (holds(part, tie.first) && holds(part, tie.second))
      units[static_cast<std::size_t>(tie.second - part.first)] -= tie.parameters;
  return units;
}

StageMemory StageCosts::memory(const StagePart& part) const {
  StageMemory memory;
  memory.persistent =
      persistent_bytes(units(part), setting_.optimiser, setting_.zero, setting_.data);
  const auto both = [](const Layer& layer, LayerState state, LayerState gradient) {
    return checked_add(layer.tensors[state].size, layer.tensors[gradient].size);
  };
  if (part.first > 0)
    memory.neighbours = both(model_.layer(part.first), kInput, kInputGradient);
  if (part.last + 1 < model_.size())
    memory.neighbours = checked_add(
        memory.neighbours, both(model_.layer(part.last), kOutput, kOutputGradient));
  for (std::int64_t i = part.first; i <= part.last; ++i) {
    const bool recomputed = i - part.first < part.recomputed;
    const LayerMemory& layer = at(i).memory[recomputed][input_stays(part, i)];
    const bool more = i < part.last;
    memory.constants = checked_add(memory.constants, model_.layer(i).constants);
    const Bytes parameters = at(i).parameters;
    // Beside the layer that runs: the one that is gathered for, or reduced after.
    const Bytes ahead = checked_add(parameters, more ? at(i + 1).parameters : 0);
    Bytes behind = checked_add(parameters, i > part.first ? at(i - 1).parameters : 0);
    behind =
        checked_add(behind, checked_add(at(i).gradients, more ? at(i + 1).gradients : 0));
    memory.gathered = std::max({memory.gathered, ahead, behind});
    const auto peak = [&](Bytes own, Bytes whole) {
      return checked_add(memory.kept, checked_add(own, whole));
    };
    memory.forward_peak = std::max(memory.forward_peak, peak(layer.forward_peak, ahead));
    memory.backward_peak =
        std::max(memory.backward_peak, peak(layer.backward_peak, behind));
    memory.kept = checked_add(memory.kept, layer.kept);
  }
  if (at(part.last).needs_output)
    memory.kept = checked_add(memory.kept, model_.layer(part.last).tensors[kOutput].size);
  return memory;
}

Nanoseconds StageCosts::backward_time(const StagePart& part) const {
  Nanoseconds time = at(part.last).gather;
  for (std::int64_t i = part.last; i >= part.first; --i) {
    const bool recomputed = i - part.first < part.recomputed;
    const Nanoseconds own = at(i).backward + (recomputed ? at(i).again : 0);
    const Nanoseconds beside =
        (i > part.first ? at(i - 1).gather : 0) + (i < part.last ? at(i + 1).reduce : 0);
    time += std::max(own, beside);
  }
  return time + at(part.first).reduce;
}

// Layers are reduced one after the other as their last backward ends.
Nanoseconds StageCosts::reduction_left(const StagePart& part) const {
  Nanoseconds computed = 0, reduced = 0;
  for (std::int64_t i = part.last; i >= part.first; --i) {
    const bool recomputed = i - part.first < part.recomputed;
    computed += at(i).backward + (recomputed ? at(i).again : 0);
    if (at(i).last_reduce > 0) reduced = std::max(reduced, computed) + at(i).last_reduce;
  }
  return std::max<Nanoseconds>(0, reduced - computed);
}

StageTimes StageCosts::times(const StagePart& part) const {
  StageTimes times;
  times.forward = at(part.first).gather;
  for (std::int64_t i = part.first; i <= part.last; ++i)
    times.forward +=
        std::max(at(i).forward, i < part.last ? at(i + 1).gather : Nanoseconds{0});
  times.backward = backward_time(part);
  times.reduce = reduction_left(part);

  const OptimiserBytes& each = setting_.optimiser;
  const std::int32_t n = setting_.data;
  const std::vector<std::int64_t> units = this->units(part);
  std::int64_t own = 0;
  Bytes gathered = 0;
  for (const std::int64_t unit : units) {
    const bool divided = setting_.zero != ZeroStage::kNone;
    own = checked_add(own, divided ? padded_elements(unit, n) / n : unit);
    gathered =
        checked_add(gathered, checked_mul(padded_elements(unit, n), each.parameter));
  }
  const Bytes touched =
      checked_mul(own, 2 * each.states + each.gradient + each.parameter);
  times.update =
      nanoseconds(static_cast<double>(touched) / setting_.cluster.memory_bandwidth);
  if (n > 1 &&
      (setting_.zero == ZeroStage::kStates || setting_.zero == ZeroStage::kGradients))
    times.gather = nanoseconds(
        all_gather_time(double(gathered), n, setting_.cluster.link(n, setting_.tensor)));
  // What is shared with a layer of another process.
  for (const LayeredModel::Tie& tie : model_.ties) {
    if (holds(part, tie.first) == holds(part, tie.second)) continue;
    times.reduce += nanoseconds(
        all_reduce_time(double(checked_mul(tie.parameters, each.gradient)), 2,
                        setting_.cluster.link(setting_.pipeline, setting_.tensor * n)));
  }
  return times;
}

Nanoseconds StageCosts::transfer(std::int64_t layer) const {
  return nanoseconds(send_time(
      double(model_.layer(layer).tensors[kInput].size),
      setting_.cluster.link(setting_.pipeline, setting_.tensor * setting_.data)));
}

}  // namespace espalier
