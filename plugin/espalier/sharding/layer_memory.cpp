#include "espalier/sharding/layer_memory.h"

#include <algorithm>

#include "espalier/model/numbers.h"
#include "espalier/model/units.h"

namespace espalier {

namespace {

bool reads(const std::vector<LayerOperator>& operators, std::int32_t tensor) {
  return std::ranges::any_of(operators, [tensor](const LayerOperator& op) {
    return std::ranges::find(op.reads, tensor) != op.reads.end();
  });
}

bool writes(const std::vector<LayerOperator>& operators, std::int32_t tensor) {
  return std::ranges::any_of(operators, [tensor](const LayerOperator& op) {
    return std::ranges::find(op.writes, tensor) != op.writes.end();
  });
}

/// Runs operators and follows what is alive.
class Pass {
 public:
  explicit Pass(const Layer& layer) : layer_(layer), alive_(layer.tensors.size()) {}

  void hold(std::int32_t tensor) {
    if (alive_[at(tensor)]) return;
    alive_[at(tensor)] = true;
    bytes_ = checked_add(bytes_, layer_.tensors[at(tensor)].size);
    peak_ = std::max(peak_, bytes_);
  }
  void free(std::int32_t tensor) {
    if (!alive_[at(tensor)]) return;
    alive_[at(tensor)] = false;
    bytes_ -= layer_.tensors[at(tensor)].size;
  }

  /// @param stays  by tensor: not freed after its last reader
  void run(const std::vector<const LayerOperator*>& operators,
           const std::vector<bool>& stays) {
    std::vector<std::size_t> last(alive_.size(), 0);  // its last reader, or its writer
    for (std::size_t k = 0; k < operators.size(); ++k) {
      for (const std::int32_t tensor : operators[k]->writes) last[at(tensor)] = k;
      for (const std::int32_t tensor : operators[k]->reads) last[at(tensor)] = k;
    }
    for (std::size_t k = 0; k < operators.size(); ++k) {
      const LayerOperator& op = *operators[k];
      for (const std::int32_t tensor : op.writes) hold(tensor);
      peak_ = std::max(peak_, checked_add(bytes_, op.workspace));
      for (const auto* tensors : {&op.reads, &op.writes})
        for (const std::int32_t tensor : *tensors)
          if (last[at(tensor)] == k && !stays[at(tensor)]) free(tensor);
    }
  }

  [[nodiscard]] Bytes bytes() const { return bytes_; }
  [[nodiscard]] Bytes peak() const { return peak_; }

 private:
  const Layer& layer_;
  std::vector<bool> alive_;
  Bytes bytes_ = 0, peak_ = 0;
};

std::vector<const LayerOperator*> all(const std::vector<LayerOperator>& operators) {
  std::vector<const LayerOperator*> result;
  for (const LayerOperator& op : operators) result.push_back(&op);
  return result;
}

/// By tensor: written by forward, read by backward, and no state.
std::vector<bool> saved_of(const Layer& layer) {
  std::vector<bool> saved(layer.tensors.size(), false);
  for (std::size_t k = kInputGradient + 1; k < saved.size(); ++k) {
    const auto tensor = static_cast<std::int32_t>(k);
    saved[k] = writes(layer.forward, tensor) && reads(layer.backward, tensor);
  }
  return saved;
}

}  // namespace

bool needs_input(const Layer& layer) { return reads(layer.backward, kInput); }
bool needs_output(const Layer& layer) { return reads(layer.backward, kOutput); }

std::vector<std::int32_t> recomputed_operators(const Layer& layer) {
  std::vector<bool> wanted = saved_of(layer);
  std::vector<std::int32_t> operators;
  for (std::size_t k = layer.forward.size(); k-- > 0;) {
    const LayerOperator& op = layer.forward[k];
    if (std::ranges::none_of(op.writes, [&](std::int32_t tensor) {
          return wanted[static_cast<std::size_t>(tensor)];
        }))
      continue;
    operators.push_back(static_cast<std::int32_t>(k));
    for (const std::int32_t tensor : op.reads)
      wanted[static_cast<std::size_t>(tensor)] = true;
  }
  std::ranges::reverse(operators);
  return operators;
}

LayerMemory layer_memory(const Layer& layer, const LayerKeeping& keeping) {
  LayerMemory memory;
  const std::vector<bool> saved = saved_of(layer);
  std::vector<bool> stays = saved;
  if (keeping.recomputed) stays.assign(saved.size(), false);
  stays[kInput] = keeping.input_stays;
  stays[kOutput] = true;

  Pass forward(layer);
  forward.hold(kInput);
  forward.run(all(layer.forward), stays);
  memory.forward_peak = forward.peak();
  if (!keeping.input_stays) forward.free(kInput);
  forward.free(kOutput);
  memory.kept = forward.bytes();

  Pass backward(layer);
  if (keeping.input_stays) backward.hold(kInput);
  if (needs_output(layer)) backward.hold(kOutput);
  backward.hold(kOutputGradient);
  std::vector<bool> end(saved.size(), false);
  end[kInput] = end[kOutput] = end[kInputGradient] = true;
  if (keeping.recomputed) {
    std::vector<const LayerOperator*> again;
    for (const std::int32_t k : recomputed_operators(layer))
      again.push_back(&layer.forward[static_cast<std::size_t>(k)]);
    std::vector<bool> until = saved;
    until[kInput] = until[kOutput] = until[kOutputGradient] = true;
    backward.run(again, until);
  } else {
    for (std::size_t k = 0; k < saved.size(); ++k)
      if (saved[k]) backward.hold(static_cast<std::int32_t>(k));
  }
  backward.run(all(layer.backward), end);
  memory.backward_peak = backward.peak();
  return memory;
}

}  // namespace espalier
