// Collective operations of a group of processes: ranks that divide the samples, or parts
// that divide the tensors. All of them are messages between two processes into planned
// memory.

#include <fmt/format.h>

#include "training/pipeline/divide_layers.h"
#include "training/pipeline/step_drafter.h"

namespace espalier::training {

// Those that have the same parameters, by their part of the tensors.
std::vector<StepDrafter::Group> StepDrafter::rank_groups(std::int32_t device) const {
  std::vector<Group> groups(static_cast<std::size_t>(shared_.tensor));
  const std::int32_t first = device * shared_.ranks * shared_.tensor;
  for (std::int32_t p = 0; p < shared_.ranks * shared_.tensor; ++p)
    groups[static_cast<std::size_t>(p % shared_.tensor)].push_back(first + p);
  return groups;
}

// Those that have the same samples, by rank.
std::vector<StepDrafter::Group> StepDrafter::tensor_groups(std::int32_t device) const {
  std::vector<Group> groups(static_cast<std::size_t>(shared_.ranks));
  const std::int32_t first = device * shared_.ranks * shared_.tensor;
  for (std::int32_t p = 0; p < shared_.ranks * shared_.tensor; ++p)
    groups[static_cast<std::size_t>(p / shared_.tensor)].push_back(first + p);
  return groups;
}

void StepDrafter::say_part(Operator& op, const ElementRange& range) {
  op.attributes["first"] = range.first;
  op.attributes["elements"] = range.count;
}

// Of every member its part of all members' tensors, in their order.
std::vector<std::vector<TensorId>> StepDrafter::reduce_scatter(
    const Group& group, TensorId of, const std::vector<TensorId>& whole) {
  const std::int64_t count = element_count(of_template(of).shape);
  std::vector<std::vector<TensorId>> parts(group.size());
  for (std::size_t owner = 0; owner < group.size(); ++owner) {
    const ElementRange range = rank_elements(
        count, static_cast<std::int32_t>(group.size()), static_cast<std::int32_t>(owner));
    if (range.count == 0) continue;
    const Tensor like = fresh(of_template(of), "/part", range.count);
    for (std::size_t from = 0; from < group.size(); ++from) {
      if (from != owner) {
        parts[owner].push_back(
            pass(group[from], whole[from], range, group[owner], {}, like));
        continue;
      }
      Draft& draft = this->draft(group[owner]);
      parts[owner].push_back(add_tensor(draft, like));
      Operator take{
          .type = "TakeSlice", .inputs = {whole[from]}, .outputs = {parts[owner].back()}};
      say_part(take, range);
      add(draft, std::move(take));
    }
  }
  return parts;
}

// Each member's part of a tensor that all have whole goes to the others.
void StepDrafter::all_gather(const Group& group, TensorId of,
                             const std::vector<TensorId*>& whole) {
  const std::int64_t count = element_count(of_template(of).shape);
  for (std::size_t from = 0; from < group.size(); ++from) {
    const ElementRange range = rank_elements(
        count, static_cast<std::int32_t>(group.size()), static_cast<std::int32_t>(from));
    for (std::size_t to = 0; to < group.size() && range.count > 0; ++to)
      if (to != from)
        *whole[to] = pass(group[from], *whole[from], range, group[to], *whole[to],
                          of_template(of));
  }
}

// The sum of tensors of one shape; of one that tensor itself.
TensorId StepDrafter::accumulate(Draft& draft, const Tensor& like,
                                 const std::vector<TensorId>& terms) {
  if (terms.size() == 1) return terms.front();
  Operator op{.type = "Accumulate"};
  op.inputs.assign(terms.begin(), terms.end());
  const TensorId sum = add_tensor(draft, like);
  op.outputs = {sum};
  add(draft, std::move(op));
  return sum;
}

// @return what is whole then, over what was
TensorId StepDrafter::put(Draft& draft, const ElementRange& range, TensorId part,
                          TensorId whole) {
  const TensorId filled = add_tensor(draft, over(draft, whole));
  Operator put{.type = "PutSlice", .inputs = {part, whole}, .outputs = {filled}};
  say_part(put, range);
  add(draft, std::move(put));
  return filled;
}

// What is the same on the way of this operator is what it was; the rest is summed up.
void StepDrafter::add_group_operator(OperatorId id, std::int32_t micro_batch,
                                     bool again) {
  const Operator& op = micro_.step.graph.op(id);
  for (const Group& group : tensor_groups(device(id))) {
    if (sums_over_group(op.type)) {
      all_reduce(group, id, micro_batch, again);
      continue;
    }
    for (const std::int32_t p : group)
      results(draft(p), micro_batch, again)[*op.output(0)] =
          value(draft(p), *op.input(0), micro_batch, again || uses_again(id));
  }
}

// Nothing else reads the tensor, or lies in its bytes.
bool StepDrafter::may_overwrite(TensorId of) const {
  const OperatorGraph& graph = micro_.step.graph;
  if (graph.readers(of).size() != 1 || graph.tensor(of).sharing != Sharing::kOwn)
    return false;
  return graph.tensor(of).role == TensorRole::kComputed && !graph.tensor(of).kept;
}

// Each member sums up a part of what all have, in their order, and gets the other parts
// of the sum: the same bits everywhere.
void StepDrafter::all_reduce(const Group& group, OperatorId id, std::int32_t micro_batch,
                             bool again) {
  const Operator& op = micro_.step.graph.op(id);
  const TensorId x = *op.input(0), y = *op.output(0);
  const std::int64_t count = element_count(of_template(y).shape);
  std::vector<TensorId> partial;
  for (const std::int32_t p : group)
    partial.push_back(value(draft(p), x, micro_batch, again || uses_again(id)));
  const auto parts = reduce_scatter(group, y, partial);
  std::vector<TensorId*> sums;
  for (std::size_t i = 0; i < group.size(); ++i) {
    Draft& draft = this->draft(group[i]);
    const ElementRange range =
        rank_elements(count, shared_.tensor, static_cast<std::int32_t>(i));
    TensorId whole = partial[i];
    if (!may_overwrite(x)) {
      whole = add_tensor(draft, fresh(of_template(y), "/copy"));
      add(draft, {.type = "Identity", .inputs = {partial[i]}, .outputs = {whole}});
    }
    if (range.count > 0)
      whole = put(draft, range,
                  accumulate(draft, fresh(of_template(y), "/sum", range.count), parts[i]),
                  whole);
    sums.push_back(&(results(draft, micro_batch, again)[y] = whole));
  }
  all_gather(group, y, sums);
}

}  // namespace espalier::training
