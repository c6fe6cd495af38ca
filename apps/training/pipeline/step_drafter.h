#pragma once

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "training/pipeline/process_step.h"

namespace espalier::training {

/// Puts the steps of all processes together at once, in one order: what process_steps()
/// says. "Template": tensors and operators of the micro-batch's step.
class StepDrafter {
 public:
  StepDrafter(const MicroStep& micro, const SharedStep& shared, const Pipeline& pipeline);

  /// Operations of a schedule in the order in which they end.
  void add_operations(const PipelineSchedule& schedule);
  [[nodiscard]] std::vector<ProcessStep> finish();

 private:
  using Values = std::map<TensorId, TensorId>;  // by template
  using Group = std::vector<std::int32_t>;      // processes
  struct Draft {
    std::int32_t process = 0, rank = 0, part = 0;  // ranks of data and of tensors
    OperatorGraphBuilder builder;
    ProcessStep step;
    Values known, gathered;                // parameters and the like: as they are now
    std::vector<Values> values, again;     // by micro-batch of a rank
    std::map<std::size_t, TensorId> sums;  // gradients so far, by trained parameter
  };
  struct Passing {
    TensorId of{};
    std::int32_t micro_batch = 0, from = 0, to = 0;  // devices
  };

  // step_drafter.cpp: operators and what passes between devices.
  void find_needed_again();
  void add_operation(const PipelineOperation& operation);
  void add_again(std::int32_t chunk, std::int32_t micro_batch);
  void add_operator(OperatorId id, std::int32_t micro_batch, bool again);
  void add_on(Draft& draft, OperatorId id, std::int32_t micro_batch, bool again);
  [[nodiscard]] bool uses_again(OperatorId id) const;
  void queue(TensorId of, std::int32_t micro_batch, std::int32_t from);
  void pass_queued();
  void add_loss();
  [[nodiscard]] bool trained(TensorId of) const { return trained_.contains(of); }
  [[nodiscard]] std::int32_t device(OperatorId id) const {
    return pipeline_.chunk(micro_.chunk[index(id)]).device;
  }
  Draft& draft(std::int32_t process) {
    return drafts_[static_cast<std::size_t>(process)];
  }
  /// All processes of a device.
  [[nodiscard]] std::span<Draft> drafts_on(std::int32_t device) {
    const auto each = static_cast<std::size_t>(shared_.ranks * shared_.tensor);
    return std::span(drafts_).subspan(each * static_cast<std::size_t>(device), each);
  }
  /// Of all micro-batches of a step the one that a rank counts so.
  [[nodiscard]] std::int64_t number(const Draft& draft, std::int32_t micro_batch) const {
    return std::int64_t{micro_batch} * shared_.ranks + draft.rank;
  }
  [[nodiscard]] const Tensor& of_template(TensorId of) const {
    return micro_.step.graph.tensor(of);
  }

  // step_drafter_gradients.cpp: gradients and updates.
  void add_partial(std::size_t k, TensorId of, std::int32_t micro_batch,
                   std::int32_t device);
  void sum_up(Draft& draft, std::size_t k, std::vector<TensorId> terms);
  void finish_gradient(std::size_t k);
  void join_devices(std::size_t k, std::int32_t home);
  void reduce_whole(std::size_t k, const Group& ranks);
  void update(std::size_t k, std::int32_t home);
  void add_update(std::size_t k, Draft& draft);
  void gather(TensorId of, std::int32_t device);
  [[nodiscard]] std::vector<std::int32_t> devices_of(TensorId parameter) const;
  [[nodiscard]] ElementRange elements(TensorId of, std::int32_t rank) const {
    return rank_elements(element_count(of_template(of).shape), shared_.ranks, rank);
  }
  [[nodiscard]] bool divides(ZeroStage from) const {
    return shared_.ranks > 1 && shared_.zero >= from;
  }

  // step_drafter_groups.cpp: collective operations.
  [[nodiscard]] std::vector<Group> rank_groups(std::int32_t device) const;
  [[nodiscard]] std::vector<Group> tensor_groups(std::int32_t device) const;
  void all_gather(const Group& group, TensorId of, const std::vector<TensorId*>& whole);
  [[nodiscard]] std::vector<std::vector<TensorId>> reduce_scatter(
      const Group& group, TensorId of, const std::vector<TensorId>& whole);
  TensorId accumulate(Draft& draft, const Tensor& like,
                      const std::vector<TensorId>& terms);
  TensorId put(Draft& draft, const ElementRange& range, TensorId part, TensorId whole);
  void add_group_operator(OperatorId id, std::int32_t micro_batch, bool again);
  void all_reduce(const Group& group, OperatorId id, std::int32_t micro_batch,
                  bool again);
  [[nodiscard]] bool may_overwrite(TensorId of) const;
  Values& results(Draft& draft, std::int32_t micro_batch, bool again) {
    return (again ? draft.again : draft.values)[static_cast<std::size_t>(micro_batch)];
  }

  // step_drafter_tensors.cpp: tensors of a process, and messages.
  TensorId value(Draft& draft, TensorId of, std::int32_t micro_batch, bool again);
  TensorId known(Draft& draft, TensorId of);
  // One tensor or a part of it, from one process to another. @param over  where at the
  // other one; nothing: in a tensor like `like`. @return what it is there
  TensorId pass(std::int32_t from, TensorId x, ElementRange part, std::int32_t to,
                std::optional<TensorId> over, const Tensor& like);
  TensorId add_tensor(Draft& draft, Tensor tensor);
  void add(Draft& draft, Operator op, PipelineKind part = PipelineKind::kBoth);
  static void say_part(Operator& op, const ElementRange& range);
  [[nodiscard]] static Tensor fresh(const Tensor& like, const std::string& suffix,
                                    std::optional<std::int64_t> elements = std::nullopt);
  [[nodiscard]] static Tensor over(const Draft& draft, TensorId old);

  const MicroStep& micro_;
  const SharedStep& shared_;
  const Pipeline& pipeline_;
  std::vector<Draft> drafts_;  // by process
  std::map<TensorId, std::size_t> trained_;
  std::multimap<TensorId, std::size_t> partial_of_;  // by template of a gradient
  std::vector<std::int64_t> left_;  // by trained parameter: gradients to come
  std::vector<bool> runs_again_;    // by operator: it is in the part that may
  std::vector<std::vector<OperatorId>> needed_again_;      // by chunk
  std::set<std::pair<std::int32_t, std::int32_t>> again_;  // chunk, micro-batch: done
  std::vector<Passing> queue_;
  std::int64_t messages_ = 0, names_ = 0;
};

}  // namespace espalier::training
