#include "solver/tree/explain_memory.h"

#include <algorithm>
#include <utility>

#include "espalier/model/peak_parts.h"

namespace espalier::solver {
namespace {

using Parts = std::vector<MemoryPart>;

constexpr MemoryPart kBaseline{"baseline", "resident before the first front"};
constexpr MemoryPart kAnalysis{"analysis", "most while reading and analysing"};

MemoryPart of(MemoryPart part, Bytes bytes) {
  part.bytes = bytes;
  return part;
}

FrontAtPeak describe(const Symbolic& symbolic, const AssemblyTree& tree,
                     std::optional<TaskId> task) {
  FrontAtPeak front;
  if (!task) return front;
  const AssemblyTree::Node& node = tree.nodes[index(*task)];
  front.node = static_cast<std::int32_t>(index(*task));
  front.front = node.last_front;
  front.fronts = node.last_front - node.first_front + 1;
  front.order = symbolic.front_order(node.last_front);
  front.pivots = symbolic.pivots(node.last_front);
  return front;
}

void hold(const Symbolic& symbolic, const AssemblyTree& tree,
          const PeakParts::Waiting& waiting, FrontAtPeak& front) {
  for (const TaskId task : waiting.outputs) {
    const FrontAtPeak below = describe(symbolic, tree, task);
    front.children.push_back({.node = below.node,
                              .front = below.front,
                              .rows = below.order - below.pivots,
                              .bytes = tree.tasks.output_size(task)});
  }
  front.children_bytes = waiting.bytes;
}

// Bytes of blocks that wait for the front that runs, and for others.
std::pair<Bytes, Bytes> waiting_bytes(const FrontsAtPeak& fronts) {
  std::pair<Bytes, Bytes> bytes{0, 0};
  for (const FrontAtPeak& front : fronts.chain)
    (&front == fronts.chain.data() ? bytes.first : bytes.second) += front.children_bytes;
  return bytes;
}

void add_fronts(const FrontsAtPeak& fronts, Parts& parts) {
  const auto [own, others] = waiting_bytes(fronts);
  parts.push_back(
      {"factor_before", "factor of fronts that are done", fronts.factor_before});
  parts.push_back({"front_factor", "the front: its part of the factor", fronts.panel});
  parts.push_back(
      {"front_contribution", "the front: its contribution block", fronts.contribution});
  parts.push_back({"front_children", "the front: blocks of its children", own});
  parts.push_back({"front_working",
                   fronts.working < 0 ? "the front: less what children give back"
                                      : "the front: stack, indices, its tasks",
                   fronts.working});
  parts.push_back({"waiting", "blocks that wait for other fronts", others});
}

void add_solve(Bytes bytes, const std::optional<FactorInMemory>& factor, Parts& parts) {
  if (!factor) return parts.push_back({"solve", "factor and vectors", bytes});
  parts.push_back({"factor", "factor in memory", factor->resident});
  parts.push_back({"factor_read", "largest part of it read back", factor->read});
  parts.push_back({"vectors", "vectors, and what solving needs",
                   bytes - factor->resident - factor->read});
}

}  // namespace

Bytes FrontsAtPeak::total() const {
  Bytes sum = panel + contribution + working + factor_before;
  for (const FrontAtPeak& front : chain) sum += front.children_bytes;
  return sum;
}

FrontsAtPeak fronts_at_peak(const Symbolic& symbolic, const AssemblyTree& tree,
                            std::span<const TaskId> order) {
  FrontsAtPeak result;
  const std::optional<PeakParts> parts = peak_parts(tree.tasks, order);
  if (!parts) return result;
  result.panel = parts->retained;
  result.contribution = parts->output;
  result.working = parts->execution;
  result.factor_before = parts->kept_before;
  result.chain.push_back(describe(symbolic, tree, parts->task));
  for (const PeakParts::Waiting& waiting : parts->waiting) {
    if (waiting.reader != parts->task)
      result.chain.push_back(describe(symbolic, tree, waiting.reader));
    hold(symbolic, tree, waiting, result.chain.back());
  }
  return result;
}

FactorInMemory factor_in_memory(const AssemblyTree& tree) {
  FactorInMemory factor;
  for (const AssemblyTree::Node& node : tree.nodes) {
    if (node.factor_at < 0)
      factor.resident += node.factor_bytes;
    else
      factor.read = std::max(factor.read, node.factor_bytes);
  }
  return factor;
}

std::string_view name(MemoryPhase phase) {
  switch (phase) {
    case MemoryPhase::kAnalysis:
      return "analysis";
    case MemoryPhase::kFactorisation:
      return "factorisation";
    case MemoryPhase::kSolve:
      break;
  }
  return "solve";
}

MemoryExplanation explain_least(const MemoryAccount& account, ExplainedNeeds needs) {
  const Bytes inside = std::max(needs.fronts, needs.solve);
  const Bytes later = account.baseline + account.reserve + inside;
  MemoryExplanation answer;
  Parts& parts = answer.parts;
  answer.total = std::max(account.analysis_peak, later) + ProcessAccount::kRunToRun;
  if (account.analysis_peak > later) {
    answer.phase = MemoryPhase::kAnalysis;
    parts = {of(kAnalysis, account.analysis_peak)};
  } else {
    parts = {of(kBaseline, account.baseline),
             {"reserve", "kept for runtime, workers and delays", account.reserve}};
    if (needs.solve > needs.fronts) {
      answer.phase = MemoryPhase::kSolve;
      add_solve(inside, needs.factor, parts);
    } else if (needs.at_peak) {
      add_fronts(*needs.at_peak, parts);
    } else {
      parts.push_back({"fronts", "fronts and factor", inside});
    }
  }
  parts.push_back({"run_to_run", "by which runs may differ", ProcessAccount::kRunToRun});
  answer.fronts = std::move(needs.at_peak);
  return answer;
}

MemoryExplanation explain_peak(const MemoryAccount& account,
                               const MeasuredMemory& measured,
                               std::optional<FactorInMemory> factor) {
  const Bytes above = measured.peak - account.baseline;
  MemoryExplanation answer;
  Parts& parts = answer.parts;
  answer.total = measured.peak;
  parts = {of(kBaseline, account.baseline)};
  if (above <= measured.growth) {
    parts.push_back(
        {"fronts", "fronts and factor, as allocated", measured.allocated_peak});
    parts.push_back(
        {"beside", "heap and system beside", above - measured.allocated_peak});
  } else if (measured.peak <= account.analysis_peak) {
    answer.phase = MemoryPhase::kAnalysis;
    parts = {of(kAnalysis, measured.peak)};
  } else {
    answer.phase = MemoryPhase::kSolve;
    add_solve(above, factor, parts);
  }
  return answer;
}

}  // namespace espalier::solver
