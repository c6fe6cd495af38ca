// Over 300 lines: what a process holds is written down and checked in one place.

#include "espalier/sharding/rank_memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>

namespace espalier {

namespace {

/// What a micro-batch leaves alive in a layer, by name: (layer, tensor). States between
/// layers are the outputs of the layer before: (layer - 1, kOutput).
using BufferPlace = std::pair<std::int64_t, std::int32_t>;

/// Writes the buffers of one process.
class RankWriter {
 public:
  RankWriter(const StageCosts& costs, const StagePart& part)
      : costs_(costs), model_(costs.model()), part_(part) {}

  void forward(std::int32_t batch) {
    auto& alive = alive_[batch];
    batch_ = batch;
    ++time_;
    begin(alive, {part_.first - 1, kOutput});
    gather(part_.first);
    for (std::int64_t i = part_.first; i <= part_.last; ++i) {
      if (i < part_.last) gather(i + 1);
      const bool again = i - part_.first < part_.recomputed;
      pass(i, all(model_.layer(i).forward), alive, [&](std::int32_t tensor) {
        if (tensor == kInput) return costs_.input_stays(part_, i);
        if (tensor == kOutput) return true;
        return !again && read_later(i, tensor);
      });
      if (!costs_.input_stays(part_, i)) end(alive, place(i, kInput));
      release(i);
    }
    // What the next process needs has been copied into the buffer for it.
    if (!output_needed(part_.last)) end(alive, {part_.last, kOutput});
  }

  void backward(std::int32_t batch) {
    auto& alive = alive_[batch];
    batch_ = batch;
    ++time_;
    gather(part_.last);
    begin(alive, gradient(part_.last + 1));
    for (std::int64_t i = part_.last; i >= part_.first; --i) {
      if (i > part_.first) gather(i - 1);
      reduce_begins(i);
      run_backward(i, alive);
      if (i < part_.last) reduce_ends(i + 1);
      release(i);
    }
    ++time_;
    reduce_ends(part_.first);
    end(alive, gradient(part_.first));
    end(alive, {part_.first - 1, kOutput});
  }

  [[nodiscard]] RankBuffers take() { return std::move(result_); }
  /// Nothing is left behind by any micro-batch.
  [[nodiscard]] bool clean() const {
    return gathered_.empty() && whole_.empty() &&
           std::ranges::all_of(alive_,
                               [](const auto& each) { return each.second.empty(); });
  }

 private:
  using Alive = std::map<BufferPlace, std::size_t>;  // to the buffer
  using Operators = std::vector<const LayerOperator*>;

  static Operators all(const std::vector<LayerOperator>& operators) {
    Operators result;
    for (const LayerOperator& op : operators) result.push_back(&op);
    return result;
  }

  static BufferPlace gradient(std::int64_t before) { return {before, kInputGradient}; }

  // The tensor of a layer as a place: states belong to two layers.
  static BufferPlace place(std::int64_t i, std::int32_t tensor) {
    if (tensor == kInput) return {i - 1, kOutput};
    if (tensor == kOutputGradient) return gradient(i + 1);
    return {i, tensor};
  }

  [[nodiscard]] Bytes size(BufferPlace at) const {
    if (at.first < 0) return model_.layer(0).tensors[kInput].size;
    if (at.first == model_.size())
      return model_.layer(model_.size() - 1).tensors[kOutputGradient].size;
    return model_.layer(at.first).tensors[static_cast<std::size_t>(at.second)].size;
  }

  [[nodiscard]] bool read_later(std::int64_t i, std::int32_t tensor) const {
    for (const LayerOperator& op : model_.layer(i).backward)
      if (std::ranges::count(op.reads, tensor) > 0) return true;
    return false;
  }
  [[nodiscard]] bool output_needed(std::int64_t i) const {
    return read_later(i, kOutput);
  }

  std::size_t open(Bytes bytes, std::string name) {
    result_.buffers.push_back({time_, time_ + 1, bytes});
    result_.names.push_back(std::move(name));
    return result_.buffers.size() - 1;
  }
  void close(std::size_t buffer) { result_.buffers[buffer].upper = time_ + 1; }

  void begin(Alive& alive, BufferPlace at) {
    if (alive.contains(at)) return;
    alive[at] =
        open(size(at), fmt::format("b{} layer {}: {}", batch_, at.first, at.second));
  }
  void end(Alive& alive, BufferPlace at) {
    const auto found = alive.find(at);
    if (found == alive.end()) return;
    close(found->second);
    alive.erase(found);
  }

  // One operator a tick; what nobody reads again in the pass ends with its last reader,
  // or writer.
  template <class Stays>
  void pass(std::int64_t i, const Operators& operators, Alive& alive,
            const Stays& stays) {
    std::map<std::int32_t, const LayerOperator*> last;
    for (const LayerOperator* op : operators) {
      for (const std::int32_t tensor : op->writes) last[tensor] = op;
      for (const std::int32_t tensor : op->reads) last[tensor] = op;
    }
    for (const LayerOperator* op : operators) {
      ++time_;
      for (const std::int32_t tensor : op->writes) begin(alive, place(i, tensor));
      if (op->workspace > 0) open(op->workspace, op->name);
      for (const auto& [tensor, user] : last)
        if (user == op && !stays(tensor)) end(alive, place(i, tensor));
    }
  }

  void run_backward(std::int64_t i, Alive& alive) {
    const bool again = i - part_.first < part_.recomputed;
    if (again) {
      Operators operators;
      std::set<std::int32_t> wanted;
      for (const Layer& layer = model_.layer(i); const LayerOperator& op : layer.backward)
        for (const std::int32_t tensor : op.reads)
          if (tensor > kInputGradient) wanted.insert(tensor);
      for (auto op = model_.layer(i).forward.rbegin();
           op != model_.layer(i).forward.rend(); ++op) {
        if (std::ranges::none_of(op->writes,
                                 [&](std::int32_t t) { return wanted.contains(t); }))
          continue;
        operators.insert(operators.begin(), &*op);
        wanted.insert(op->reads.begin(), op->reads.end());
      }
      pass(i, operators, alive, [&](std::int32_t tensor) {
        return tensor <= kInputGradient || read_later(i, tensor);
      });
    }
    pass(i, all(model_.layer(i).backward), alive, [](std::int32_t tensor) {
      return tensor == kInput || tensor == kOutput || tensor == kInputGradient;
    });
    // The state after the layer has served the layer after it and this one.
    end(alive, {i, kOutput});
    end(alive, gradient(i + 1));
    if (i > part_.first && !output_needed(i - 1)) end(alive, {i - 1, kOutput});
  }

  void gather(std::int64_t i) {
    if (costs_.gathered(i) == 0 || gathered_.contains(i)) return;
    ++time_;
    gathered_[i] = open(costs_.gathered(i), fmt::format("layer {}: parameters", i));
  }
  void release(std::int64_t i) { close_of(gathered_, i); }
  void reduce_begins(std::int64_t i) {
    if (costs_.whole_gradients(i) == 0) return;
    ++time_;
    whole_[i] = open(costs_.whole_gradients(i), fmt::format("layer {}: gradients", i));
  }
  void reduce_ends(std::int64_t i) { close_of(whole_, i); }
  // The buffer of layer i, if it has one there.
  template <class Buffers>
  void close_of(Buffers& buffers, std::int64_t i) {
    const auto found = buffers.find(i);
    if (found == buffers.end()) return;
    close(found->second);
    buffers.erase(found);
  }

  const StageCosts& costs_;
  const LayeredModel& model_;
  StagePart part_;
  RankBuffers result_;
  std::map<std::int32_t, Alive> alive_;
  std::map<std::int64_t, std::size_t> gathered_, whole_;
  std::int64_t time_ = 0;
  std::int32_t batch_ = 0;
};

PipelineScheme scheme_of(const TrainingPlan& plan) {
  return plan.setting.pipeline == 1 ? PipelineScheme::kOneForwardOneBackward
                                    : plan.setting.schedule;
}

void check_run(const StageCosts& costs, const TrainingPlan& plan, Violations& wrong) {
  const Pipeline pipeline = pipeline_of(costs, plan);
  const PipelineSchedule schedule = named_pipeline(pipeline, scheme_of(plan));
  const auto run = replay_pipeline(pipeline, schedule);
  if (!run) {
    wrong.push_back("the schedule waits in a circle");
    return;
  }
  for (const std::string& each : validate_pipeline(pipeline, schedule, *run))
    wrong.push_back(each);
  Nanoseconds step = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const auto& starts = run->starts[s];
    const Nanoseconds end = starts.back() + duration(pipeline, schedule.orders[s].back());
    step = std::max(step, end + plan.stages[s].times.end());
  }
  if (step != plan.step)
    wrong.push_back(fmt::format("a step of {} ns, not {}", step, plan.step));
}

}  // namespace

RankBuffers rank_buffers(const StageCosts& costs, const TrainingPlan& plan,
                         std::int32_t stage) {
  const Pipeline pipeline = pipeline_of(costs, plan);
  const PipelineSchedule schedule = named_pipeline(pipeline, scheme_of(plan));
  RankWriter writer(costs, plan.stages[static_cast<std::size_t>(stage)].part);
  for (const PipelineOperation& operation :
       schedule.orders[static_cast<std::size_t>(stage)]) {
    if (operation.kind == PipelineKind::kForward) {
      writer.forward(operation.micro_batch);
    } else {
      writer.backward(operation.micro_batch);
    }
  }
  if (!writer.clean())
    throw std::logic_error(fmt::format("stage {} of a plan keeps a tensor", stage));
  return writer.take();
}

TrainingPlan first_micro_batches(TrainingPlan plan) {
  TrainingSetting& setting = plan.setting;
  if (scheme_of(plan) == PipelineScheme::kOneForwardOneBackward) {
    const std::int32_t enough = setting.pipeline == 1 ? 1 : setting.pipeline + 1;
    setting.micro_batches = std::min(setting.micro_batches, enough);
  }
  return plan;
}

Bytes load_of(const std::vector<Buffer>& buffers) {
  std::map<std::int64_t, Bytes> change;
  for (const Buffer& buffer : buffers) {
    change[buffer.lower] += buffer.size;
    change[buffer.upper] -= buffer.size;
  }
  Bytes now = 0, most = 0;
  for (const auto& [time, by] : change) most = std::max(most, now += by);
  return most;
}

Violations validate_training_memory(const StageCosts& costs, const TrainingPlan& plan) {
  Violations wrong;
  const TrainingSetting& setting = plan.setting;
  if (plan.stages.size() != static_cast<std::size_t>(setting.pipeline)) {
    wrong.push_back(
        fmt::format("{} stages, not {}", plan.stages.size(), setting.pipeline));
    return wrong;
  }
  std::int64_t next = 0;
  for (const TrainingPlan::Stage& stage : plan.stages) {
    if (stage.part.first != next)
      wrong.push_back(fmt::format("layer {} follows layer {}", stage.part.first, next));
    next = stage.part.last + 1;
  }
  if (next != costs.model().size()) wrong.push_back("layers are missing at the end");
  if (!wrong.empty()) return wrong;
  const TrainingPlan first = first_micro_batches(plan);
  for (std::int32_t s = 0; s < setting.pipeline; ++s) {
    const TrainingPlan::Stage& stage = plan.stages[static_cast<std::size_t>(s)];
    const Bytes peak =
        stage.memory.fixed() + load_of(rank_buffers(costs, first, s).buffers);
    if (peak != stage.peak_bytes)
      wrong.push_back(
          fmt::format("stage {} needs {} bytes, not {}", s, peak, stage.peak_bytes));
  }
  return wrong;
}

Violations validate_training_plan(const StageCosts& costs, const TrainingPlan& plan) {
  Violations wrong = validate_training_memory(costs, plan);
  if (wrong.empty()) check_run(costs, plan, wrong);
  return wrong;
}

}  // namespace espalier
