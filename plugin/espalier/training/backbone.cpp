#include "espalier/training/backbone.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "espalier/training/operator_work.h"

namespace espalier {
namespace {

constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
constexpr Flops kUnits = 1e9;  // that the whole step costs

class Finder {
 public:
  explicit Finder(const TrainingGraph& step)
      : step_(step), graph_(step.graph), stage_of_(graph_.size(), kNever) {}

  Backbone find(std::size_t most_stages) {
    find_stages();
    deal_backward();
    while (result_.stages.size() > most_stages) merge_least();
    make_chain();
    return std::move(result_);
  }

 private:
  [[nodiscard]] const Tensor& storage(TensorId id) const {
    return graph_.tensor(graph_.storage(id));
  }

  // A stage ends where one tensor alone is read by forward operators that come later.
  void find_stages() {
    std::vector<OperatorId> forward;
    std::vector<std::size_t> position(graph_.size(), kNever);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (step_.phase[i] != StepPhase::kForward && step_.phase[i] != StepPhase::kLoss)
        continue;
      position[i] = forward.size();
      forward.push_back(operator_id(i));
    }
    std::vector<std::size_t> last(graph_.tensors().size(), 0);  // by storage
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t) {
      for (const OperatorId reader : graph_.readers(tensor_id(t))) {
        if (position[index(reader)] == kNever) continue;
        std::size_t& end = last[index(graph_.storage(tensor_id(t)))];
        end = std::max(end, position[index(reader)]);
      }
    }
    std::set<TensorId> crossing;
    Backbone::Stage stage;
    for (std::size_t k = 0; k < forward.size(); ++k) {
      const Operator& op = graph_.op(forward[k]);
      stage.forward.push_back(forward[k]);
      stage_of_[index(forward[k])] = result_.stages.size();
      for (const auto& output : op.outputs) {
        if (output && last[index(graph_.storage(*output))] > k &&
            storage(*output).role == TensorRole::kComputed)
          crossing.insert(graph_.storage(*output));
      }
      std::erase_if(crossing, [&](TensorId each) { return last[index(each)] <= k; });
      if (crossing.size() != 1 || k + 1 == forward.size()) continue;
      result_.stages.push_back(std::exchange(stage, {}));
      stage.input = *crossing.begin();
    }
    result_.stages.push_back(std::move(stage));
  }

  void deal_backward() {
    std::size_t stage = result_.stages.size() - 1;
    bool last = false;
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      const OperatorId id = operator_id(i);
      if (step_.phase[i] == StepPhase::kForward || step_.phase[i] == StepPhase::kLoss)
        continue;
      if (step_.undoes[i]) stage = stage_of_[index(*step_.undoes[i])];
      const std::string& type = graph_.op(id).type;
      last = last || type == "Barrier" || type == "GlobalNorm";
      if (last) {
        result_.last.push_back(id);
      } else {
        result_.stages[stage].backward.push_back(id);
      }
    }
  }

  void merge_least() {
    auto& stages = result_.stages;
    std::size_t least = 0;
    Bytes least_bytes = std::numeric_limits<Bytes>::max();
    for (std::size_t i = 0; i + 2 < stages.size(); ++i) {  // the loss stays alone
      const Bytes bytes = saved_bytes(stages[i]) + saved_bytes(stages[i + 1]);
      if (bytes < least_bytes) least = i, least_bytes = bytes;
    }
    Backbone::Stage& into = stages[least];
    Backbone::Stage& from = stages[least + 1];
    into.forward.insert(into.forward.end(), from.forward.begin(), from.forward.end());
    from.backward.insert(from.backward.end(), into.backward.begin(), into.backward.end());
    into.backward = std::move(from.backward);
    stages.erase(stages.begin() + static_cast<std::ptrdiff_t>(least) + 1);
  }

  // What forward operators of the stage write and the way back reads.
  [[nodiscard]] std::set<TensorId> saved(const Backbone::Stage& stage) const {
    std::set<TensorId> written, read;
    for (const OperatorId id : stage.forward) {
      for (const auto& output : graph_.op(id).outputs) {
        if (output && storage(*output).role == TensorRole::kComputed)
          written.insert(graph_.storage(*output));
      }
    }
    for (const OperatorId id : stage.backward) {
      for (const auto& input : graph_.op(id).inputs) {
        if (input && written.contains(graph_.storage(*input)))
          read.insert(graph_.storage(*input));
      }
    }
    if (stage.input) read.erase(*stage.input);
    return read;
  }
  [[nodiscard]] Bytes bytes_of(const std::set<TensorId>& tensors) const {
    Bytes bytes = 0;
    for (const TensorId each : tensors) bytes += graph_.tensor(each).bytes;
    return bytes;
  }
  [[nodiscard]] Bytes saved_bytes(const Backbone::Stage& stage) const {
    return bytes_of(saved(stage));
  }

  // The most that the operators hold of what they write themselves, one after the other;
  // `kept` stays.
  [[nodiscard]] Bytes peak(const std::vector<OperatorId>& ops,
                           const std::set<TensorId>& kept) const {
    std::set<TensorId> own;
    std::vector<std::size_t> last(graph_.tensors().size(), 0);
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const Operator& op = graph_.op(ops[k]);
      for (const auto* list : {&op.inputs, &op.outputs}) {
        for (const auto& each : *list) {
          if (each) last[index(graph_.storage(*each))] = k;
        }
      }
    }
    Bytes level = 0, most = 0;
    for (std::size_t k = 0; k < ops.size(); ++k) {
      const Operator& op = graph_.op(ops[k]);
      for (const auto& output : op.outputs) {
        if (!output || graph_.tensor(*output).sharing != Sharing::kOwn) continue;
        own.insert(*output);
        level += graph_.tensor(*output).bytes;
      }
      most = std::max(most, level + op.workspace);
      std::erase_if(own, [&](TensorId each) {
        if (last[index(each)] > k || kept.contains(each)) return false;
        level -= graph_.tensor(each).bytes;
        return true;
      });
    }
    return most;
  }

  [[nodiscard]] Flops work(const std::vector<OperatorId>& ops) const {
    Flops sum = 0;
    for (const OperatorId id : ops) sum += operator_work(graph_, id);
    return sum;
  }

  void make_chain() {
    auto& stages = result_.stages;
    for (const Backbone::Stage& stage : stages) {
      result_.forward_work += work(stage.forward);
      result_.all_work += work(stage.forward) + work(stage.backward);
    }
    result_.all_work += work(result_.last);
    result_.unit = std::max(1.0, result_.all_work / kUnits);
    const auto cost = [this](const std::vector<OperatorId>& ops) {
      return static_cast<Nanoseconds>(std::llround(work(ops) / result_.unit)) + 1;
    };
    std::vector<Stage> chain;
    for (std::size_t i = 0; i < stages.size(); ++i) {
      const bool has_next = i + 1 < stages.size();
      std::set<TensorId> passes, kept = saved(stages[i]);
      if (has_next) passes.insert(*stages[i + 1].input);
      kept.insert(passes.begin(), passes.end());
      const Bytes output = bytes_of(passes), all = bytes_of(kept);
      Stage stage;
      stage.input = stages[i].input ? graph_.tensor(*stages[i].input).bytes : 0;
      stage.saved = all;
      stage.forward = cost(stages[i].forward);
      stage.backward = cost(stages[i].backward);
      stage.forward_workspace =
          std::max({Bytes{0}, peak(stages[i].forward, passes) - output,
                    peak(stages[i].forward, kept) - all});
      stage.backward_workspace = peak(stages[i].backward, {});
      chain.push_back(stage);
    }
    result_.chain = std::make_shared<const Chain>(std::move(chain), 0);
  }

  const TrainingGraph& step_;
  const OperatorGraph& graph_;
  std::vector<std::size_t> stage_of_;  // by operator
  Backbone result_;
};

}  // namespace

Backbone backbone(const TrainingGraph& step, std::size_t most_stages) {
  return Finder(step).find(std::max<std::size_t>(2, most_stages));
}

}  // namespace espalier
