#include "espalier/training/unroll_schedule.h"

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/training/operator_work.h"

namespace espalier {
namespace {

class Unroller {
 public:
  Unroller(const TrainingGraph& step, const Backbone& backbone)
      : step_(step),
        graph_(step.graph),
        backbone_(backbone),
        out_(graph_.operator_set()),
        now_(graph_.tensors().size()),
        now_op_(graph_.size()),
        tapes_(backbone.stages.size()) {
    result_.step.parameters = step.parameters;
    result_.step.parameter_bytes = step.parameter_bytes;
    result_.step.state_bytes = step.state_bytes;
  }

  UnrolledStep unroll(ActionStream& actions) {
    while (const auto action = actions.next()) run(*action);
    for (const OperatorId id : backbone_.last) emit(id);
    result_.step.loss = now_[index(step_.loss)].value();
    for (const TensorId label : step_.labels)
      result_.step.labels.push_back(now_[index(label)].value());
    result_.step.graph = std::move(out_).build();
    return std::move(result_);
  }

 private:
  // Which tensors stand for those of the step.
  using Names = std::vector<std::pair<TensorId, std::optional<TensorId>>>;

  void run(const Action& action) {
    const auto first = static_cast<std::size_t>(action.first);
    if (action.kind == ActionKind::kForward) {
      if (action.target.is_slot()) slots_[action.target.slot] = state(first);
      for (auto i = first; i < static_cast<std::size_t>(action.last); ++i) forward(i);
      if (action.keeps_tape) tapes_[first] = tape(first);
    } else if (action.kind == ActionKind::kCopy || action.kind == ActionKind::kMove) {
      restore(action.source.level == Place::kTape
                  ? *tapes_[static_cast<std::size_t>(action.source.slot)]
                  : slots_.at(action.source.slot));
    } else if (action.kind == ActionKind::kReverse) {
      if (tapes_[first]) {
        restore(*std::exchange(tapes_[first], std::nullopt));
      } else {
        forward(first);
      }
      for (const OperatorId id : backbone_.stages[first].backward) emit(id);
    }
  }

  void restore(const Names& names) {
    for (const auto& [original, now] : names) now_[index(original)] = now;
  }

  // The tensors that lie in what passes into a stage.
  [[nodiscard]] Names state(std::size_t stage) const {
    Names names;
    const auto input = backbone_.stages[stage].input;
    for (std::size_t t = 0; input && t < now_.size(); ++t) {
      if (graph_.storage(tensor_id(t)) == *input)
        names.emplace_back(tensor_id(t), now_[t]);
    }
    return names;
  }

  [[nodiscard]] Names tape(std::size_t stage) const {
    Names names = state(stage);
    for (const OperatorId id : backbone_.stages[stage].forward) {
      for (const auto& output : graph_.op(id).outputs) {
        if (output) names.emplace_back(*output, now_[index(*output)]);
      }
    }
    return names;
  }

  void forward(std::size_t stage) {
    for (const OperatorId id : backbone_.stages[stage].forward) {
      if (now_op_[index(id)]) {
        ++result_.again;
        result_.again_work += operator_work(graph_, id);
      }
      emit(id);
    }
  }

  TensorId here(TensorId original) {
    auto& id = now_[index(original)];
    if (!id) {
      const Tensor& tensor = graph_.tensor(original);
      id = out_.add_tensor(tensor, tensor.bytes);
    }
    return *id;
  }

  TensorId written(TensorId original, bool again) {
    Tensor tensor = graph_.tensor(original);
    if (tensor.sharing != Sharing::kOwn)
      tensor.shared_with = now_[index(tensor.shared_with)].value();
    if (again) tensor.kept = false;
    while (out_.graph().find_tensor(tensor.name)) tensor.name += "/again";
    const Bytes bytes = tensor.bytes;
    const TensorId id = out_.add_tensor(std::move(tensor), bytes);
    if (!(again && original == step_.loss)) now_[index(original)] = id;
    return id;
  }

  void emit(OperatorId original) {
    Operator op = graph_.op(original);
    const bool again = now_op_[index(original)].has_value();
    for (auto& input : op.inputs) {
      if (input) input = here(*input);
    }
    for (TensorId& input : op.captured) input = here(input);
    for (auto& output : op.outputs) {
      if (output) output = written(*output, again);
    }
    for (OperatorId& before : op.after) before = now_op_[index(before)].value();
    while (again && out_.graph().find_operator(op.name)) op.name += "/again";
    if (again && op.type == "BatchNormalization")
      op.attributes["updates_statistics"] = std::int64_t{0};
    now_op_[index(original)] = out_.add_operator(std::move(op));
    result_.step.phase.push_back(step_.phase[index(original)]);
    const auto undoes = step_.undoes[index(original)];
    result_.step.undoes.push_back(undoes ? now_op_[index(*undoes)] : std::nullopt);
  }

  const TrainingGraph& step_;
  const OperatorGraph& graph_;
  const Backbone& backbone_;
  OperatorGraphBuilder out_;
  std::vector<std::optional<TensorId>> now_;       // by tensor of the step
  std::vector<std::optional<OperatorId>> now_op_;  // by operator of the step
  std::vector<std::optional<Names>> tapes_;        // by stage
  std::map<std::int64_t, Names> slots_;
  UnrolledStep result_;
};

}  // namespace

UnrolledStep unroll_schedule(const TrainingGraph& step, const Backbone& backbone,
                             ActionStream& actions) {
  return Unroller(step, backbone).unroll(actions);
}

}  // namespace espalier
