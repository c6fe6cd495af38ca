#include "espalier/sharding/search_pipeline.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <limits>
#include <map>
#include <random>
#include <utility>

#include "espalier/sharding/improve_pipeline.h"
#include "espalier/sharding/list_pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "espalier/sharding/round_pipeline.h"

namespace espalier {

namespace {

/// The least that a device needs: one micro-batch, whose forwards have all run before its
/// first backward.
std::vector<Bytes> least_bytes(const Pipeline& pipeline) {
  std::vector<Bytes> least;
  for (std::int32_t d = 0; d < pipeline.devices(); ++d)
    least.push_back(pipeline.persistent(d));
  for (std::int32_t c = 0; c < pipeline.chunks(); ++c) {
    const PipelineChunk& chunk = pipeline.chunk(c);
    least[static_cast<std::size_t>(chunk.device)] +=
        chunk.until_backward + chunk.until_weight;
  }
  return least;
}

/// The value of a run, and what tells two runs of the same value apart.
using Value = std::pair<Nanoseconds, Nanoseconds>;

Value value_of(const PipelineRun& run, PipelineObjective objective) {
  Nanoseconds sum = 0;
  for (const PipelineRun::Device& device : run.devices)
    sum += objective_value(device, objective);
  return {objective_value(run, objective), sum};
}

class PipelineSearch {
 public:
  PipelineSearch(const Pipeline& pipeline, const PipelineSearchOptions& options)
      : pipeline_(pipeline), options_(options) {
    answer_.lower_bound =
        pipeline_lower_bound(pipeline, options.memory_bound, options.objective);
  }

  PipelineAnswer run() {
    try_named();
    try_lists();
    try_rounds();
    climb();
    answer_.value = best_.first;
    return std::move(answer_);
  }

 private:
  [[nodiscard]] bool found() const {
    return best_.first < std::numeric_limits<Nanoseconds>::max();
  }

  /// Never before there is a schedule: the first list gives one.
  [[nodiscard]] bool ended() const {
    if (!found()) return false;
    return best_.first == answer_.lower_bound || (options_.stop && options_.stop());
  }

  [[nodiscard]] bool fits(const PipelineRun& run) const {
    return !options_.memory_bound ||
           std::all_of(run.devices.begin(), run.devices.end(), [&](const auto& device) {
             return device.peak_bytes <= *options_.memory_bound;
           });
  }

  /// @return whether it is no worse than the best, whose place it takes
  bool take(PipelineSchedule& schedule, std::string_view origin) {
    std::optional<PipelineRun> run = replay_pipeline(pipeline_, schedule);
    if (!run || !fits(*run)) return false;
    const Value value = value_of(*run, options_.objective);
    keep(value, schedule, origin);
    if (value > best_) return false;
    if (value < best_) answer_.origin = origin;
    best_ = value;
    answer_.run = std::move(*run);
    answer_.schedule = schedule;
    return true;
  }

  // Among the best ones so far that were found alike, each value once: what is near the
  // best schedule of one kind may end above what is near a worse one of another.
  void keep(const Value& value, const PipelineSchedule& schedule,
            std::string_view origin) {
    std::vector<Start>& alike = starts_[origin.front()];
    if (std::ranges::find(alike, value, &Start::first) != alike.end()) return;
    alike.emplace_back(value, schedule);
    if (alike.size() <= kStartsAlike) return;
    alike.erase(std::ranges::max_element(alike, {}, &Start::first));
  }

  void try_named() {
    if (!options_.named) return;
    for (const PipelineScheme scheme :
         {PipelineScheme::kZeroBubbleH1, PipelineScheme::kZeroBubbleH2,
          PipelineScheme::kZeroBubbleV}) {
      const std::int32_t v = scheme == PipelineScheme::kZeroBubbleV ? 2 : 1;
      std::vector<std::int32_t> lie;
      for (std::int32_t c = 0; c < pipeline_.chunks(); ++c)
        lie.push_back(pipeline_.chunk(c).device);
      if (lie != chunk_devices(scheme, pipeline_.devices(), v)) continue;
      if (ended()) return;
      PipelineSchedule schedule = named_pipeline(pipeline_, scheme);
      take(schedule, name(scheme));
    }
  }

  // Where nothing fits yet the widest window comes first, too: time may be short.
  void try_lists() {
    const std::int32_t widest =
        std::min(pipeline_.micro_batches(), 2 * pipeline_.chunks() + 1);
    const Bytes most = std::numeric_limits<Bytes>::max();
    PipelineListRule rule;
    rule.memory.assign(static_cast<std::size_t>(pipeline_.devices()),
                       options_.memory_bound.value_or(most));
    rule.window = widest;
    if (!found()) try_list(rule);
    for (rule.window = 1; rule.window <= widest; ++rule.window) {
      for (const bool forward_first : {false, true}) {
        for (const bool weights_at_once : {false, true}) {
          rule.forward_first = forward_first;
          rule.weights_at_once = weights_at_once;
          for (const double patience : kPatience) {
            if (weights_at_once && patience < 1) break;
            rule.patience = patience;
            if (!try_list(rule)) return;
          }
        }
      }
    }
  }

  /// @return false when the search has ended
  bool try_list(const PipelineListRule& rule) {
    if (ended()) return false;
    auto schedule = list_pipeline(pipeline_, rule, [this] { return ended(); });
    if (schedule) take(*schedule, "list");
    return schedule.has_value();
  }

  void try_rounds() {
    PipelineRoundRule rule;
    rule.memory.assign(static_cast<std::size_t>(pipeline_.devices()),
                       options_.memory_bound.value_or(std::numeric_limits<Bytes>::max()));
    for (const bool backward_first : {false, true}) {
      for (const bool leave_forwards : {false, true}) {
        for (const WarmUp warm_up :
             {WarmUp::kWhileItLasts, WarmUp::kOneMore, WarmUp::kStaircase}) {
          rule.backward_first = backward_first;
          rule.leave_forwards = leave_forwards;
          rule.warm_up = warm_up;
          if (!try_fillings(rule)) return;
        }
      }
    }
  }

  /// @return false when the search has ended
  bool try_fillings(PipelineRoundRule& rule) {
    for (const PartlyFilled before_forward : kFillings) {
      for (const PartlyFilled before_backward : kFillings) {
        rule.before_forward = before_forward;
        rule.before_backward = before_backward;
        if (!try_round(rule)) return false;
      }
    }
    return true;
  }

  /// Once more where what devices wait in the end is known.
  /// @return false when the search has ended
  bool try_round(PipelineRoundRule& rule) {
    rule.waits.clear();
    for (int turn = 0; turn < 2 && !ended(); ++turn) {
      std::optional<PipelineRounds> rounds = round_pipeline(pipeline_, rule);
      if (!rounds) break;
      take(rounds->schedule, "rounds");
      rule.waits = std::move(rounds->waits);
    }
    return !ended();
  }

  // Each of the best starts with its share of the replays.
  void climb() {
    std::vector<Start> all;
    for (auto& [origin, alike] : starts_)
      std::ranges::move(alike, std::back_inserter(all));
    starts_.clear();
    std::ranges::sort(all, {}, &Start::first);
    for (std::size_t k = 0; k < all.size() && !ended(); ++k) {
      PipelineSchedule schedule =
          improve_pipeline(pipeline_, all[k].second,
                           {.memory_bound = options_.memory_bound,
                            .objective = options_.objective,
                            .replays = options_.replays / std::ssize(all),
                            .lower_bound = answer_.lower_bound,
                            .seed = options_.seed + k,
                            .stop = options_.stop});
      take(schedule, "local search");
    }
  }

  using Start = std::pair<Value, PipelineSchedule>;
  static constexpr std::size_t kStartsAlike = 2;
  static constexpr std::array<PartlyFilled, 3> kFillings = {
      PartlyFilled::kAlways, PartlyFilled::kAgainstTheMost, PartlyFilled::kNever};
  static constexpr std::array<double, 4> kPatience = {1, 0, 0.5, 0.8};

  const Pipeline& pipeline_;
  const PipelineSearchOptions& options_;
  Value best_ = {std::numeric_limits<Nanoseconds>::max(),
                 std::numeric_limits<Nanoseconds>::max()};
  std::map<char, std::vector<Start>> starts_;  // by the first letter of their origin
  PipelineAnswer answer_;
};

}  // namespace

Expected<PipelineAnswer> search_pipeline(const Pipeline& pipeline,
                                         const PipelineSearchOptions& options) {
  const std::vector<Bytes> least = least_bytes(pipeline);
  const Bytes needed = *std::max_element(least.begin(), least.end());
  if (options.memory_bound && *options.memory_bound < needed)
    return tl::unexpected(Infeasible{Infeasible::Reason::kImpossible,
                                     *options.memory_bound, needed, needed});
  return PipelineSearch(pipeline, options).run();
}

}  // namespace espalier
