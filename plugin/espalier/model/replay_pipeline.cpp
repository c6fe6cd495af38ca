#include "espalier/model/replay_pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "espalier/model/error.h"

namespace espalier {

namespace {

constexpr Nanoseconds kNever = -1;

constexpr PipelineKind kParts[] = {PipelineKind::kForward, PipelineKind::kBackward,
                                   PipelineKind::kWeight};

/// What an operation does: one part, or the two of kBoth.
std::span<const PipelineKind> parts_of(PipelineKind kind) {
  const std::span<const PipelineKind> parts(kParts);
  if (kind == PipelineKind::kBoth) return parts.subspan(1, 2);
  return parts.subspan(static_cast<std::size_t>(kind), 1);
}

/// A time for each part, chunk and micro-batch.
class Times {
 public:
  explicit Times(const Pipeline& pipeline)
      : micro_batches_(static_cast<std::size_t>(pipeline.micro_batches())) {
    const std::size_t cells =
        micro_batches_ * static_cast<std::size_t>(pipeline.chunks());
    for (auto& times : times_) times.assign(cells, kNever);
  }
  [[nodiscard]] Nanoseconds& of(PipelineKind part, std::int32_t chunk, std::int32_t i) {
    return times_[static_cast<std::size_t>(part)]
                 [static_cast<std::size_t>(chunk) * micro_batches_ +
                  static_cast<std::size_t>(i)];
  }

 private:
  std::size_t micro_batches_;
  std::vector<Nanoseconds> times_[3];
};

void check_operations(const Pipeline& pipeline, const PipelineSchedule& schedule) {
  if (schedule.orders.size() != static_cast<std::size_t>(pipeline.devices()))
    throw InvalidInput(fmt::format("orders of {} devices where there are {}",
                                   schedule.orders.size(), pipeline.devices()));
  Times seen(pipeline);
  std::int64_t missing = std::int64_t{3} * pipeline.chunks() * pipeline.micro_batches();
  for (std::size_t d = 0; d < schedule.orders.size(); ++d) {
    for (const PipelineOperation& operation : schedule.orders[d]) {
      const auto& [kind, chunk, i] = operation;
      if (chunk < 0 || chunk >= pipeline.chunks() || i < 0 ||
          i >= pipeline.micro_batches() ||
          static_cast<std::size_t>(pipeline.chunk(chunk).device) != d)
        throw InvalidInput(
            fmt::format("{} does not belong to device {}", describe(operation), d));
      for (const PipelineKind part : parts_of(kind)) {
        if (seen.of(part, chunk, i) != kNever)
          throw InvalidInput(fmt::format("{} is there twice", describe(operation)));
        seen.of(part, chunk, i) = 0;
        --missing;
      }
    }
  }
  if (missing > 0)
    throw InvalidInput(fmt::format("{} operations of the pipeline are missing", missing));
}

class Replayer {
 public:
  Replayer(const Pipeline& pipeline, const PipelineSchedule& schedule)
      : pipeline_(pipeline),
        schedule_(schedule),
        ends_(pipeline),
        next_(schedule.orders.size(), 0),
        held_(schedule.orders.size(), 0) {
    run_.starts.resize(schedule.orders.size());
    run_.devices.resize(schedule.orders.size());
    for (std::int32_t d = 0; d < pipeline.devices(); ++d) {
      held_[static_cast<std::size_t>(d)] = pipeline.persistent(d);
      device(d).peak_bytes = pipeline.persistent(d);
    }
  }

  /// A device goes on until it has to wait; what it has ended may wake its neighbours.
  std::optional<PipelineRun> run() {
    for (std::int32_t d = 0; d < pipeline_.devices(); ++d) awake_.push_back(d);
    while (!awake_.empty()) {
      const std::int32_t d = awake_.back();
      awake_.pop_back();
      go_on(static_cast<std::size_t>(d));
    }
    for (std::size_t d = 0; d < next_.size(); ++d)
      if (next_[d] < schedule_.orders[d].size()) return std::nullopt;
    for (const PipelineRun::Device& each : run_.devices)
      run_.makespan = std::max(run_.makespan, each.last);
    return std::move(run_);
  }

 private:
  PipelineRun::Device& device(std::int32_t d) {
    return run_.devices[static_cast<std::size_t>(d)];
  }

  void go_on(std::size_t d) {
    const auto& order = schedule_.orders[d];
    for (; next_[d] < order.size(); ++next_[d]) {
      const Nanoseconds ready = ready_time(order[next_[d]]);
      if (ready == kNever) return;
      perform(d, order[next_[d]], ready);
    }
  }

  /// When all that the operation follows is there; kNever when some of it has not ended.
  Nanoseconds ready_time(const PipelineOperation& operation) {
    const auto& [kind, c, i] = operation;
    if (kind == PipelineKind::kForward)
      return c == 0 ? 0 : arrival(PipelineKind::kForward, c - 1, c, i);
    if (kind == PipelineKind::kWeight) return arrival(PipelineKind::kBackward, c, c, i);
    const Nanoseconds own = arrival(PipelineKind::kForward, c, c, i);
    if (c + 1 == pipeline_.chunks() || own == kNever) return own;
    const Nanoseconds from = arrival(PipelineKind::kBackward, c + 1, c, i);
    return from == kNever ? kNever : std::max(own, from);
  }

  Nanoseconds arrival(PipelineKind part, std::int32_t from, std::int32_t to,
                      std::int32_t i) {
    const Nanoseconds end = ends_.of(part, from, i);
    return end == kNever ? kNever : end + pipeline_.transfer(from, to);
  }

  void perform(std::size_t d, const PipelineOperation& operation, Nanoseconds ready) {
    const auto& [kind, c, i] = operation;
    PipelineRun::Device& self = run_.devices[d];
    const Nanoseconds start = std::max(ready, self.last);
    if (run_.starts[d].empty()) self.first = start;
    self.last = start + duration(pipeline_, operation);
    self.busy += self.last - start;
    run_.starts[d].push_back(start);
    const PipelineChunk& chunk = pipeline_.chunk(c);
    for (const PipelineKind part : parts_of(kind)) {
      ends_.of(part, c, i) = self.last;
      if (part == PipelineKind::kForward) {
        held_[d] += chunk.until_backward + chunk.until_weight;
        self.peak_bytes = std::max(self.peak_bytes, held_[d]);
        if (c + 1 < pipeline_.chunks()) wake(c + 1, d);
      } else if (part == PipelineKind::kBackward) {
        held_[d] -= chunk.until_backward;
        if (c > 0) wake(c - 1, d);
      } else {
        held_[d] -= chunk.until_weight;
      }
    }
  }

  void wake(std::int32_t chunk, std::size_t by) {
    const std::int32_t d = pipeline_.chunk(chunk).device;
    if (static_cast<std::size_t>(d) != by) awake_.push_back(d);
  }

  const Pipeline& pipeline_;
  const PipelineSchedule& schedule_;
  Times ends_;
  std::vector<std::size_t> next_;
  std::vector<Bytes> held_;
  std::vector<std::int32_t> awake_;
  PipelineRun run_;
};

}  // namespace

std::optional<PipelineRun> replay_pipeline(const Pipeline& pipeline,
                                           const PipelineSchedule& schedule) {
  check_operations(pipeline, schedule);
  return Replayer(pipeline, schedule).run();
}

std::vector<std::vector<PipelineHolding>> pipeline_memory(
    const Pipeline& pipeline, const PipelineSchedule& schedule, const PipelineRun& run) {
  std::vector<std::vector<PipelineHolding>> held;
  for (std::int32_t d = 0; d < pipeline.devices(); ++d) {
    held.push_back({{0, pipeline.persistent(d)}});
    auto& moments = held.back();
    const auto change = [&](Nanoseconds time, Bytes by) {
      if (by != 0) moments.push_back({time, moments.back().bytes + by});
    };
    const auto& order = schedule.orders[static_cast<std::size_t>(d)];
    for (std::size_t k = 0; k < order.size(); ++k) {
      const PipelineChunk& chunk = pipeline.chunk(order[k].chunk);
      const Nanoseconds start = run.starts[static_cast<std::size_t>(d)][k];
      for (const PipelineKind part : parts_of(order[k].kind)) {
        if (part == PipelineKind::kForward) {
          change(start, chunk.until_backward + chunk.until_weight);
        } else {
          change(start + duration(pipeline, order[k]), part == PipelineKind::kBackward
                                                           ? -chunk.until_backward
                                                           : -chunk.until_weight);
        }
      }
    }
  }
  return held;
}

}  // namespace espalier
