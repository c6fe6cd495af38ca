#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string_view>
#include <tuple>
#include <vector>

#include "espalier/model/replay_pipeline.h"
#include "espalier/model/violations.h"

namespace espalier {

namespace {

struct Interval {
  Nanoseconds begin = 0, end = 0;
};

class PipelineChecker {
 public:
  PipelineChecker(const Pipeline& pipeline, const PipelineSchedule& schedule,
                  const PipelineRun& run)
      : pipeline_(pipeline),
        schedule_(schedule),
        run_(run),
        parts_(3 * static_cast<std::size_t>(pipeline.chunks()) *
               static_cast<std::size_t>(pipeline.micro_batches())) {}

  Violations check() {
    const auto devices = static_cast<std::size_t>(pipeline_.devices());
    if (schedule_.orders.size() != devices || run_.starts.size() != devices ||
        run_.devices.size() != devices)
      return {"the schedule or the run is of another number of devices"};
    for (std::size_t d = 0; d < devices; ++d) collect(d);
    if (!wrong_.empty()) return wrong_;
    for (std::int32_t c = 0; c < pipeline_.chunks(); ++c)
      for (std::int32_t i = 0; i < pipeline_.micro_batches(); ++i)
        check_micro_batch(c, i);
    if (!wrong_.empty()) return wrong_;
    Nanoseconds last = 0;
    for (std::size_t d = 0; d < devices; ++d) {
      check_figures(d);
      for (const Interval& each : intervals_[d]) last = std::max(last, each.end);
    }
    if (last != run_.makespan)
      say(fmt::format("the makespan is {}, not {}", last, run_.makespan));
    return wrong_;
  }

 private:
  // A part of a micro-batch in a chunk: F, B or W.
  struct Key {
    char part;
    std::int32_t chunk, micro_batch;
  };

  std::optional<Interval>& of(const Key& key) {
    const auto part = std::string_view("FBW").find(key.part);
    const auto row = part * static_cast<std::size_t>(pipeline_.chunks()) +
                     static_cast<std::size_t>(key.chunk);
    return parts_[row * static_cast<std::size_t>(pipeline_.micro_batches()) +
                  static_cast<std::size_t>(key.micro_batch)];
  }

  void say(std::string what) { complain(wrong_, std::move(what)); }

  // One device: intervals one after the other, each of its operation's length.
  void collect(std::size_t d) {
    const auto& order = schedule_.orders[d];
    intervals_.emplace_back();
    if (run_.starts[d].size() != order.size())
      return say(fmt::format("device {}: {} starts of {} operations", d,
                             run_.starts[d].size(), order.size()));
    Nanoseconds free = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
      const PipelineOperation& operation = order[k];
      const auto c = operation.chunk;
      if (c < 0 || c >= pipeline_.chunks() ||
          static_cast<std::size_t>(pipeline_.chunk(c).device) != d)
        return say(fmt::format("{} runs on device {}", describe(operation), d));
      if (operation.micro_batch < 0 || operation.micro_batch >= pipeline_.micro_batches())
        return say(fmt::format("there is no micro-batch of {}", describe(operation)));
      const PipelineChunk& chunk = pipeline_.chunk(c);
      const Nanoseconds begin = run_.starts[d][k];
      if (begin < free)
        say(fmt::format("{} begins at {}, before device {} is free at {}",
                        describe(operation), begin, d, free));
      Nanoseconds length = 0;
      std::string_view parts;
      if (operation.kind == PipelineKind::kForward) length += chunk.forward, parts = "F";
      if (operation.kind == PipelineKind::kBackward)
        length += chunk.backward, parts = "B";
      if (operation.kind == PipelineKind::kWeight) length += chunk.weight, parts = "W";
      if (operation.kind == PipelineKind::kBoth)
        length += chunk.backward + chunk.weight, parts = "BW";
      free = begin + length;
      intervals_[d].push_back({begin, free});
      for (const char part : parts) {
        std::optional<Interval>& when = of({part, c, operation.micro_batch});
        if (when) say(fmt::format("{} is there twice", describe(operation)));
        when = Interval{begin, free};
      }
    }
  }

  void check_micro_batch(std::int32_t c, std::int32_t i) {
    for (const char part : {'F', 'B', 'W'})
      if (!of({part, c, i})) return say(fmt::format("{}{}.{} is missing", part, i, c));
    const auto follows = [&](Key later, Key earlier) {
      const std::optional<Interval> a = of(earlier), b = of(later);
      if (!a || !b) return;  // said where it is missing
      if (a->begin == b->begin && a->end == b->end && later.chunk == earlier.chunk)
        return;  // both parts of one operation
      const Nanoseconds there = a->end + pipeline_.transfer(earlier.chunk, later.chunk);
      if (b->begin < there)
        say(fmt::format("{}{}.{} begins at {}, before {}{}.{} is there at {}", later.part,
                        i, c, b->begin, earlier.part, i, earlier.chunk, there));
    };
    if (c > 0) follows({'F', c, i}, {'F', c - 1, i});
    if (c + 1 < pipeline_.chunks()) follows({'B', c, i}, {'B', c + 1, i});
    follows({'B', c, i}, {'F', c, i});
    follows({'W', c, i}, {'B', c, i});
  }

  // Bytes at the begin of each forward, from the lifetimes of all states on the device.
  void check_figures(std::size_t d) {
    struct Change {
      Nanoseconds time;
      std::size_t position;  // in the order of the device
      Bytes bytes;
    };
    std::vector<Change> changes;
    Nanoseconds busy = 0;
    const auto& order = schedule_.orders[d];
    for (std::size_t k = 0; k < order.size(); ++k) {
      const auto& [kind, c, i] = order[k];
      const PipelineChunk& chunk = pipeline_.chunk(c);
      const Interval when = intervals_[d][k];
      busy += when.end - when.begin;
      if (kind == PipelineKind::kForward)
        changes.push_back({when.begin, 2 * k, chunk.until_backward + chunk.until_weight});
      if (kind == PipelineKind::kBackward || kind == PipelineKind::kBoth)
        changes.push_back({when.end, 2 * k + 1, -chunk.until_backward});
      if (kind == PipelineKind::kWeight || kind == PipelineKind::kBoth)
        changes.push_back({when.end, 2 * k + 1, -chunk.until_weight});
    }
    std::stable_sort(changes.begin(), changes.end(),
                     [](const Change& a, const Change& b) {
                       return std::tie(a.time, a.position) < std::tie(b.time, b.position);
                     });
    Bytes bytes = pipeline_.persistent(static_cast<std::int32_t>(d)), peak = bytes;
    for (const Change& change : changes) peak = std::max(peak, bytes += change.bytes);
    const PipelineRun::Device& said = run_.devices[d];
    if (peak != said.peak_bytes)
      say(fmt::format("device {} holds {} bytes at most, not {}", d, peak,
                      said.peak_bytes));
    if (busy != said.busy)
      say(fmt::format("device {} is busy for {}, not {}", d, busy, said.busy));
    if (!intervals_[d].empty() && (intervals_[d].front().begin != said.first ||
                                   intervals_[d].back().end != said.last))
      say(fmt::format("device {} begins at {} and ends at {}, not {} and {}", d,
                      intervals_[d].front().begin, intervals_[d].back().end, said.first,
                      said.last));
  }

  const Pipeline& pipeline_;
  const PipelineSchedule& schedule_;
  const PipelineRun& run_;
  std::vector<std::vector<Interval>> intervals_;
  std::vector<std::optional<Interval>> parts_;
  Violations wrong_;
};

}  // namespace

Violations validate_pipeline(const Pipeline& pipeline, const PipelineSchedule& schedule,
                             const PipelineRun& run) {
  return PipelineChecker(pipeline, schedule, run).check();
}

}  // namespace espalier
