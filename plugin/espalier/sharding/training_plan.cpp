#include "espalier/sharding/training_plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <stdexcept>

#include "espalier/model/replay_pipeline.h"

namespace espalier {

namespace {

using Parts = std::vector<StagePart>;

/// Sums over layers 0 … i - 1 of what cuts are chosen by.
class Sums {
 public:
  explicit Sums(const StageCosts& costs) {
    for (std::int64_t i = 0; i < costs.model().size(); ++i) {
      add(time_, static_cast<double>(costs.forward(i) + costs.backward(i)));
      add(persistent_, static_cast<double>(costs.model().layer(i).parameters) *
                           static_cast<double>(costs.setting().optimiser.all()));
      add(kept_[0], static_cast<double>(costs.kept(i, false)));
      add(kept_[1], static_cast<double>(costs.kept(i, true)));
    }
  }
  [[nodiscard]] double time(std::int64_t i, std::int64_t j) const {
    return of(time_, i, j);
  }
  /// Of layers i … j - 1 with k micro-batches under way and parameters among n ranks.
  [[nodiscard]] double bytes(std::int64_t i, std::int64_t j, std::int64_t k,
                             bool recomputed, double ranks) const {
    return of(persistent_, i, j) / ranks +
           static_cast<double>(k) * of(kept_[recomputed], i, j);
  }
  [[nodiscard]] double whole_time() const { return time_.back(); }

 private:
  using Line = std::vector<double>;
  static void add(Line& line, double value) { line.push_back(line.back() + value); }
  static double of(const Line& line, std::int64_t i, std::int64_t j) {
    return line[static_cast<std::size_t>(j)] - line[static_cast<std::size_t>(i)];
  }
  Line time_{0}, persistent_{0};
  std::array<Line, 2> kept_ = {Line{0}, Line{0}};
};

/// Parts of the least largest value(i, j, s) of layers i … j - 1 in stage s; the earliest
/// cuts where several are.
template <class Value>
Parts minimax(std::int64_t layers, std::int32_t stages, const Value& value) {
  const auto n = static_cast<std::size_t>(layers);
  const auto p = static_cast<std::size_t>(stages);
  const double most = std::numeric_limits<double>::infinity();
  std::vector<double> before, now(n + 1, most);
  std::vector<std::vector<std::size_t>> first(p, std::vector<std::size_t>(n + 1, 0));
  for (std::size_t j = 1; j <= n; ++j) now[j] = value(0, j, 0);
  for (std::size_t s = 1; s < p; ++s) {
    before = std::exchange(now, std::vector<double>(n + 1, most));
    for (std::size_t j = s + 1; j <= n; ++j) {
      for (std::size_t i = s; i < j; ++i) {
        const double longest = std::max(before[i], value(i, j, s));
        if (longest >= now[j]) continue;
        now[j] = longest;
        first[s][j] = i;
      }
    }
  }
  Parts parts(p);
  std::size_t end = n;
  for (std::size_t s = p; s-- > 0;) {
    parts[s].first = static_cast<std::int64_t>(first[s][end]);
    parts[s].last = static_cast<std::int64_t>(end) - 1;
    end = first[s][end];
  }
  return parts;
}

/// The family of cuts: none depends on a bound.
std::vector<Parts> cuts_of(const StageCosts& costs, const TrainingSetting& setting) {
  const std::int64_t layers = costs.model().size();
  const std::int32_t p = setting.pipeline;
  if (p == 1) return {Parts{{0, layers - 1, 0}}};
  const Sums sums(costs);
  std::vector<Parts> cuts;
  const auto add = [&](Parts parts) {
    if (std::ranges::find(cuts, parts) == cuts.end()) cuts.push_back(std::move(parts));
  };
  const auto time = [&](std::size_t i, std::size_t j) {
    return sums.time(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j));
  };
  add(minimax(layers, p,
              [&](std::size_t i, std::size_t j, std::size_t) { return time(i, j); }));
  const double ranks =
      setting.zero == ZeroStage::kNone ? 1 : std::min<double>(4, setting.data);
  for (const bool recomputed : {false, true}) {
    const auto bytes = [&](std::size_t i, std::size_t j, std::size_t s) {
      return sums.bytes(static_cast<std::int64_t>(i), static_cast<std::int64_t>(j),
                        under_way(setting, static_cast<std::int32_t>(s)), recomputed,
                        ranks);
    };
    const Parts least = minimax(layers, p, bytes);
    double most = 0;
    for (std::size_t s = 0; s < least.size(); ++s)
      most = std::max(most, bytes(static_cast<std::size_t>(least[s].first),
                                  static_cast<std::size_t>(least[s].last) + 1, s));
    add(least);
    const double pace = sums.whole_time() / p;
    for (const double weight : {0.5, 1.0, 2.0}) {
      add(minimax(layers, p, [&](std::size_t i, std::size_t j, std::size_t s) {
        return time(i, j) / pace + weight * bytes(i, j, s) / std::max(most, 1.0);
      }));
    }
  }
  return cuts;
}

/// As few recomputed layers as fit; the fewest bytes where none does.
struct Fit {
  StagePart part;
  Bytes peak = std::numeric_limits<Bytes>::max();
  bool fits = false;
};

Fit fit(const StageCosts& costs, StagePart part, std::int64_t under_way, Bytes bound) {
  Fit best;
  for (part.recomputed = 0; part.recomputed <= part.last - part.first + 1;
       ++part.recomputed) {
    const Bytes peak = costs.memory(part).peak(under_way);
    if (peak < best.peak) best = {part, peak, peak <= bound};
    if (best.fits) break;
  }
  return best;
}

void check_parts(const StageCosts& costs, const TrainingSetting& setting,
                 const Parts& parts) {
  if (parts.size() != static_cast<std::size_t>(setting.pipeline))
    throw InvalidInput(fmt::format("{} parts for a pipeline of {} stages", parts.size(),
                                   setting.pipeline));
  std::int64_t next = 0;
  for (const StagePart& part : parts) {
    if (part.first != next || part.last < part.first)
      throw InvalidInput(fmt::format("a part of layers {} … {} where layer {} follows",
                                     part.first, part.last, next));
    next = part.last + 1;
  }
  if (next != costs.model().size())
    throw InvalidInput(
        fmt::format("parts of {} layers of {}", next, costs.model().size()));
}

}  // namespace

std::string describe(const TrainingSetting& setting) {
  return fmt::format(
      "data {} x pipeline {} x tensor {}, zero-{}, {} micro-batch{} of {}{}",
      setting.data, setting.pipeline, setting.tensor, static_cast<int>(setting.zero),
      setting.micro_batches, setting.micro_batches == 1 ? "" : "es", setting.micro_batch,
      setting.pipeline == 1 ? "" : fmt::format(", {}", name(setting.schedule)));
}

Bytes TrainingPlan::peak_bytes() const {
  Bytes peak = 0;
  for (const Stage& stage : stages) peak = std::max(peak, stage.peak_bytes);
  return peak;
}

std::int64_t under_way(const TrainingSetting& setting, std::int32_t stage) {
  // Alone, a stage ends each micro-batch before the next one.
  if (setting.pipeline == 1) return 1;
  if (setting.schedule == PipelineScheme::kGpipe) return setting.micro_batches;
  return std::min(setting.pipeline - stage, setting.micro_batches);
}

Pipeline pipeline_of(const StageCosts& costs, const TrainingPlan& plan) {
  std::vector<PipelineChunk> chunks;
  std::vector<Bytes> persistent;
  Nanoseconds transfer = 0;
  for (std::size_t s = 0; s < plan.stages.size(); ++s) {
    const TrainingPlan::Stage& stage = plan.stages[s];
    chunks.push_back({static_cast<std::int32_t>(s), stage.times.forward,
                      stage.times.backward, 0, stage.memory.kept, 0});
    persistent.push_back(stage.memory.fixed());
    if (s > 0) transfer = std::max(transfer, costs.transfer(stage.part.first));
  }
  return Pipeline(std::move(chunks), plan.setting.micro_batches, transfer,
                  std::move(persistent));
}

TrainingPlan training_plan(const StageCosts& costs, const TrainingSetting& setting,
                           const std::vector<StagePart>& parts) {
  check_parts(costs, setting, parts);
  TrainingPlan plan{setting, {}, 0};
  for (std::size_t s = 0; s < parts.size(); ++s) {
    TrainingPlan::Stage stage{parts[s],
                              under_way(setting, static_cast<std::int32_t>(s)),
                              costs.memory(parts[s]),
                              costs.times(parts[s]),
                              0,
                              0};
    stage.peak_bytes = stage.memory.peak(stage.under_way);
    plan.stages.push_back(stage);
  }
  const Pipeline pipeline = pipeline_of(costs, plan);
  // One stage: each micro-batch is finished before the next one begins.
  const PipelineScheme scheme =
      setting.pipeline == 1 ? PipelineScheme::kOneForwardOneBackward : setting.schedule;
  const auto run = replay_pipeline(pipeline, named_pipeline(pipeline, scheme));
  if (!run) throw std::logic_error("the schedule of a plan waits in a circle");
  for (std::size_t s = 0; s < parts.size(); ++s) {
    plan.stages[s].ends = run->devices[s].last;
    plan.step = std::max(plan.step,
                         checked_add(run->devices[s].last, plan.stages[s].times.end()));
  }
  return plan;
}

Expected<TrainingPlan> plan_setting(const StageCosts& costs,
                                    const TrainingSetting& setting, Bytes bound) {
  std::optional<TrainingPlan> best;
  Bytes least = std::numeric_limits<Bytes>::max();
  std::vector<Parts> tried;
  for (Parts parts : cuts_of(costs, setting)) {
    Bytes needed = 0;
    bool fits = true;
    for (std::size_t s = 0; s < parts.size(); ++s) {
      const Fit found =
          fit(costs, parts[s], under_way(setting, static_cast<std::int32_t>(s)), bound);
      parts[s] = found.part;
      needed = std::max(needed, found.peak);
      fits = fits && found.fits;
    }
    least = std::min(least, needed);
    if (!fits || std::ranges::find(tried, parts) != tried.end()) continue;
    tried.push_back(parts);
    TrainingPlan plan = training_plan(costs, setting, parts);
    if (!best || plan.step < best->step) best = std::move(plan);
  }
  if (best) return std::move(*best);
  return tl::unexpected(Infeasible{Infeasible::Reason::kNoneFound, bound, least, 0});
}

}  // namespace espalier
