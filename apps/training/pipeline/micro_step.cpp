#include "training/pipeline/micro_step.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "espalier/model/error.h"
#include "espalier/training/operator_work.h"

namespace espalier::training {
namespace {

bool is_update(const Operator& op) { return op.type.ends_with("Update"); }

// What is written by operators and lies on both sides of a cut behind position k of the
// forward operators.
std::vector<Bytes> crossing_bytes(const OperatorGraph& graph, std::size_t forward) {
  std::vector<Bytes> change(forward + 1);
  for (std::size_t t = 0; t < graph.tensors().size(); ++t) {
    const auto producer = graph.producer(tensor_id(t));
    if (!producer || index(*producer) >= forward) continue;
    std::size_t last = index(*producer);
    for (const OperatorId reader : graph.readers(tensor_id(t)))
      if (index(reader) < forward) last = std::max(last, index(reader));
    change[index(*producer)] += graph.tensors()[t].bytes;
    change[last] -= graph.tensors()[t].bytes;
  }
  for (std::size_t k = 1; k < change.size(); ++k) change[k] += change[k - 1];
  return change;
}

// Positions of forward operators behind which the model may be cut: those where least
// passes between its neighbours, or all when these are too few.
std::vector<std::size_t> cut_places(const OperatorGraph& graph, std::size_t forward,
                                    std::int32_t chunks) {
  const std::vector<Bytes> bytes = crossing_bytes(graph, forward);
  std::vector<std::size_t> narrow, all;
  for (std::size_t k = 0; k + 1 < forward; ++k) {
    all.push_back(k);
    if ((k == 0 || bytes[k] <= bytes[k - 1]) && bytes[k] <= bytes[k + 1])
      narrow.push_back(k);
  }
  const auto& places = std::ssize(narrow) >= 2 * (chunks - 1) ? narrow : all;
  if (std::ssize(places) < chunks - 1)
    throw InvalidInput(
        fmt::format("a network of {} operator{} cannot be cut into {} stages", forward,
                    forward == 1 ? "" : "s", chunks));
  return places;
}

// Ends of the chunks but the last, so that the largest work of one is least.
std::vector<std::size_t> best_cuts(const std::vector<Flops>& sums,
                                   const std::vector<std::size_t>& places,
                                   std::int32_t chunks) {
  constexpr Flops kNone = std::numeric_limits<Flops>::infinity();
  const std::size_t n = places.size();
  const auto work = [&](std::size_t from, std::size_t to) {
    return sums[to] - sums[from];
  };
  // best[c][i]: chunks 0 … c end behind place i.
  std::vector<std::vector<Flops>> best(static_cast<std::size_t>(chunks),
                                       std::vector<Flops>(n + 1, kNone));
  std::vector<std::vector<std::size_t>> from(static_cast<std::size_t>(chunks),
                                             std::vector<std::size_t>(n + 1));
  const auto end = [&](std::size_t i) {
    return i == n ? sums.size() - 1 : places[i] + 1;
  };
  for (std::size_t i = 0; i <= n; ++i) best[0][i] = work(0, end(i));
  for (std::size_t c = 1; c < best.size(); ++c)
    for (std::size_t i = c; i <= n; ++i)
      for (std::size_t j = c - 1; j < i; ++j) {
        const Flops longest = std::max(best[c - 1][j], work(end(j), end(i)));
        if (longest >= best[c][i]) continue;
        best[c][i] = longest;
        from[c][i] = j;
      }
  std::vector<std::size_t> cuts;
  std::size_t i = n;
  for (std::size_t c = best.size() - 1; c > 0; --c) {
    i = from[c][i];
    cuts.push_back(end(i));
  }
  std::ranges::reverse(cuts);
  return cuts;
}

class StepDivider {
 public:
  explicit StepDivider(MicroStep& micro) : micro_(micro), graph_(micro.step.graph) {}

  void divide() {
    find_trained();
    cut_forward();
    place_backward();
    for (std::size_t i = 0; i < graph_.size(); ++i) add_work(operator_id(i));
    for (std::size_t t = 0; t < graph_.tensors().size(); ++t) add_held(tensor_id(t));
  }

 private:
  [[nodiscard]] StepPhase phase(std::size_t i) const { return micro_.step.phase[i]; }

  // Operators that add up partial gradients of a parameter are of no part.
  void find_trained() {
    micro_.part.assign(graph_.size(), PipelineKind::kForward);
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (phase(i) == StepPhase::kUpdate) micro_.part[i] = PipelineKind::kBoth;
      if (!is_update(graph_.operators()[i])) continue;
      const Operator& op = graph_.operators()[i];
      MicroStep::Trained trained{*op.input(1), {*op.input(0)}, operator_id(i)};
      const auto producer = graph_.producer(*op.input(0));
      if (producer && graph_.op(*producer).type == "Accumulate") {
        micro_.part[index(*producer)] = PipelineKind::kBoth;
        trained.partials.clear();
        for (const auto& each : graph_.op(*producer).inputs)
          trained.partials.push_back(*each);
      }
      partials_.insert(trained.partials.begin(), trained.partials.end());
      micro_.trained.push_back(std::move(trained));
    }
  }

  void cut_forward() {
    micro_.chunk.assign(graph_.size(), micro_.chunks - 1);
    std::size_t forward = 0;
    while (forward < graph_.size() && phase(forward) == StepPhase::kForward) ++forward;
    if (micro_.chunks == 1) return;
    // An operator and what undoes it: three times the work of the way there.
    std::vector<Flops> sums = {0};
    for (std::size_t i = 0; i < forward; ++i)
      sums.push_back(sums.back() + 1 + operator_work(graph_, operator_id(i)));
    const auto cuts =
        best_cuts(sums, cut_places(graph_, forward, micro_.chunks), micro_.chunks);
    for (std::size_t i = 0; i < forward; ++i)
      micro_.chunk[i] = static_cast<std::int32_t>(
          std::ranges::count_if(cuts, [i](std::size_t cut) { return cut <= i; }));
  }

  void place_backward() {
    for (std::size_t i = 0; i < graph_.size(); ++i) {
      if (phase(i) != StepPhase::kBackward || micro_.part[i] == PipelineKind::kBoth)
        continue;
      const Operator& op = graph_.operators()[i];
      if (const auto undone = micro_.step.undoes[i]) {
        micro_.chunk[i] = micro_.chunk[index(*undone)];
      } else {  // gradients of one tensor are added up where the first of its readers is
        for (const auto& input : op.inputs)
          micro_.chunk[i] =
              std::min(micro_.chunk[i], micro_.chunk[index(*graph_.producer(*input))]);
      }
      micro_.part[i] =
          gives_weights_alone(op) ? PipelineKind::kWeight : PipelineKind::kBackward;
    }
  }

  // Whether all that it gives is gradients of parameters, that no other operator reads.
  [[nodiscard]] bool gives_weights_alone(const Operator& op) const {
    return std::ranges::all_of(op.outputs, [&](const std::optional<TensorId>& output) {
      if (!output) return true;
      return partials_.contains(*output) &&
             std::ranges::all_of(graph_.readers(*output), [&](OperatorId reader) {
               return micro_.part[index(reader)] == PipelineKind::kBoth;
             });
    });
  }

  void add_work(OperatorId id) {
    micro_.work.resize(static_cast<std::size_t>(micro_.chunks));
    auto& work = micro_.work[static_cast<std::size_t>(micro_.chunk[index(id)])];
    const Flops flops = operator_work(graph_, id);
    if (micro_.part[index(id)] == PipelineKind::kForward) work.forward += flops;
    if (micro_.part[index(id)] == PipelineKind::kBackward) work.backward += flops;
    if (micro_.part[index(id)] == PipelineKind::kWeight) work.weight += flops;
  }

  // A tensor that F or B has written counts once in each chunk that reads it later.
  void add_held(TensorId id) {
    const auto producer = graph_.producer(id);
    if (!producer || micro_.part[index(*producer)] == PipelineKind::kBoth) return;
    const bool forward = micro_.part[index(*producer)] == PipelineKind::kForward;
    std::set<std::int32_t> until_weight, until_backward;
    for (const OperatorId reader : graph_.readers(id)) {
      const PipelineKind part = micro_.part[index(reader)];
      if (part == PipelineKind::kWeight)
        until_weight.insert(micro_.chunk[index(reader)]);
      else if (part == PipelineKind::kBackward && forward)
        until_backward.insert(micro_.chunk[index(reader)]);
    }
    const Bytes bytes = graph_.tensor(id).bytes;
    for (const std::int32_t c : until_weight) work(c).until_weight += bytes;
    for (const std::int32_t c : until_backward)
      if (!until_weight.contains(c)) work(c).until_backward += bytes;
  }

  MicroStep::Work& work(std::int32_t chunk) {
    return micro_.work[static_cast<std::size_t>(chunk)];
  }

  MicroStep& micro_;
  const OperatorGraph& graph_;
  std::set<TensorId> partials_;
};

}  // namespace

MicroStep micro_step(const OperatorGraph& model, TrainingOptions options,
                     std::int32_t chunks, bool split) {
  options.in_place = false;
  options.accumulate_at_once = true;
  options.split_weight_gradients = split;
  options.updates = UpdateTime::kFree;
  MicroStep micro;
  micro.step = training_graph(model, options);
  micro.chunks = chunks;
  StepDivider(micro).divide();
  return micro;
}

}  // namespace espalier::training
