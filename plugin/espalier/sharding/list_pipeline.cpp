#include "espalier/sharding/list_pipeline.h"

#include <algorithm>
#include <deque>
#include <optional>
#include <queue>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

namespace {

using enum PipelineKind;

class ListScheduler {
 public:
  ListScheduler(const Pipeline& pipeline, const PipelineListRule& rule,
                const std::function<bool()>& stop)
      : pipeline_(pipeline),
        rule_(rule),
        stop_(stop),
        chunks_(static_cast<std::size_t>(pipeline.chunks())),
        devices_(static_cast<std::size_t>(pipeline.devices())) {
    for (std::int32_t c = 0; c < pipeline.chunks(); ++c) device_of(c).chunks.push_back(c);
    for (std::int32_t d = 0; d < pipeline.devices(); ++d)
      devices_[static_cast<std::size_t>(d)].held = pipeline.persistent(d);
    chunks_.front().forwards_ready = pipeline.micro_batches();
  }

  std::optional<PipelineSchedule> run() {
    for (std::int32_t d = 0; d < pipeline_.devices(); ++d) touched_.push_back(d);
    decide_touched(0);
    while (!events_.empty()) {
      if (stop_ && ++steps_ % kStepsALook == 0 && stop_()) return std::nullopt;
      const Nanoseconds now = events_.top().time;
      // All that happens at this time, before anything is decided.
      for (; !events_.empty() && events_.top().time == now; events_.pop()) {
        happen(events_.top());
        touched_.push_back(pipeline_.chunk(events_.top().chunk).device);
      }
      decide_touched(now);
    }
    PipelineSchedule schedule;
    for (Device& device : devices_) schedule.orders.push_back(std::move(device.order));
    return schedule;
  }

 private:
  // Micro-batches pass a chunk in order: counts say all.
  struct Chunk {
    std::int32_t forwards_ready = 0, forwards = 0;  // arrived, begun
    std::int32_t backwards_ready = 0, backwards = 0;
    std::int32_t weights_ready = 0, weights = 0;
    std::int32_t forwards_ended = 0, gradients = 0;  // of B: own forward, chunk after it
    std::deque<Nanoseconds> forwards_coming, gradients_coming;  // when they arrive
  };
  struct Device {
    std::vector<std::int32_t> chunks;
    std::vector<PipelineOperation> order;
    Bytes held = 0;
    bool busy = false;
  };
  struct Event {
    Nanoseconds time;
    PipelineKind kind;
    std::int32_t chunk;
    bool arrival;  // at this chunk, from a neighbour; else the end of its own operation
    bool operator<(const Event& other) const { return time > other.time; }
  };

  Device& device_of(std::int32_t c) {
    return devices_[static_cast<std::size_t>(pipeline_.chunk(c).device)];
  }
  Chunk& at(std::int32_t c) { return chunks_[static_cast<std::size_t>(c)]; }

  void happen(const Event& event) {
    Chunk& chunk = at(event.chunk);
    if (event.arrival) {
      if (event.kind == kForward) {
        ++chunk.forwards_ready;
        chunk.forwards_coming.pop_front();
      } else {
        ++chunk.gradients;
        chunk.gradients_coming.pop_front();
      }
    } else {
      end(event, chunk);
    }
    const bool last = event.chunk + 1 == pipeline_.chunks();
    chunk.backwards_ready =
        last ? chunk.forwards_ended : std::min(chunk.forwards_ended, chunk.gradients);
  }

  void end(const Event& event, Chunk& chunk) {
    Device& device = device_of(event.chunk);
    const PipelineChunk& sizes = pipeline_.chunk(event.chunk);
    device.busy = false;
    if (event.kind == kForward) {
      ++chunk.forwards_ended;
      if (event.chunk + 1 < pipeline_.chunks()) send(event, event.chunk + 1);
    } else if (event.kind == kBackward) {
      ++chunk.weights_ready;
      device.held -= sizes.until_backward;
      if (event.chunk > 0) send(event, event.chunk - 1);
    } else {
      device.held -= sizes.until_weight;
    }
  }

  void send(const Event& event, std::int32_t to) {
    const Nanoseconds time = event.time + pipeline_.transfer(event.chunk, to);
    events_.push({time, event.kind, to, true});
  }

  // A device to which nothing has happened would choose as before: nothing. What takes no
  // time may make room for more at the same time: happen() sees to it.
  void decide_touched(Nanoseconds now) {
    std::ranges::sort(touched_);
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    for (const std::int32_t number : touched_) {
      const auto d = static_cast<std::size_t>(number);
      if (devices_[d].busy) continue;
      if (const std::optional<PipelineOperation> next = choose(d, now))
        begin(d, *next, now);
    }
    touched_.clear();
  }

  std::optional<PipelineOperation> choose(std::size_t d, Nanoseconds now) {
    if (rule_.weights_at_once)
      if (const auto found = weight(d)) return found;
    const auto first = rule_.forward_first ? forward(d) : backward(d);
    if (first) return first;
    const auto second = rule_.forward_first ? backward(d) : forward(d);
    if (second) return second;
    const auto last = weight(d);
    return last && delays_too_much(d, *last, now) ? std::nullopt : last;
  }

  bool delays_too_much(std::size_t d, const PipelineOperation& weight, Nanoseconds now) {
    if (rule_.patience >= 1) return false;
    const auto own = static_cast<double>(pipeline_.chunk(weight.chunk).weight);
    const Nanoseconds latest = now + static_cast<Nanoseconds>((1 - rule_.patience) * own);
    const Device& device = devices_[d];
    Bytes room = 0;
    for (auto c = device.chunks.rbegin(); c != device.chunks.rend(); ++c) {
      const PipelineChunk& sizes = pipeline_.chunk(*c);
      const Chunk& chunk = at(*c);
      room += sizes.until_backward + sizes.until_weight;
      if (!chunk.gradients_coming.empty() && chunk.gradients_coming.front() < latest)
        return true;
      if (!chunk.forwards_coming.empty() && chunk.forwards_coming.front() < latest &&
          device.held + room <= rule_.memory[d])
        return true;
    }
    return false;
  }

  std::optional<PipelineOperation> backward(std::size_t d) {
    return last_ready(d, kBackward, &Chunk::backwards, &Chunk::backwards_ready);
  }

  std::optional<PipelineOperation> forward(std::size_t d) {
    const Device& device = devices_[d];
    Bytes room = 0;  // for the chunks after this one
    for (auto c = device.chunks.rbegin(); c != device.chunks.rend(); ++c) {
      const PipelineChunk& sizes = pipeline_.chunk(*c);
      room += sizes.until_backward + sizes.until_weight;
      const bool in_window =
          *c > 0 || at(0).forwards - at(0).weights_ready < rule_.window;
      if (at(*c).forwards < at(*c).forwards_ready && in_window &&
          device.held + room <= rule_.memory[d])
        return PipelineOperation{kForward, *c, at(*c).forwards};
    }
    return std::nullopt;
  }

  std::optional<PipelineOperation> weight(std::size_t d) {
    return last_ready(d, kWeight, &Chunk::weights, &Chunk::weights_ready);
  }

  // Of the last chunk of the device that has fewer operations done than ready.
  template <class Count>
  std::optional<PipelineOperation> last_ready(std::size_t d, PipelineKind kind,
                                              Count Chunk::*done, Count Chunk::*ready) {
    const auto& chunks = devices_[d].chunks;
    for (auto c = chunks.rbegin(); c != chunks.rend(); ++c)
      if (at(*c).*done < at(*c).*ready) return PipelineOperation{kind, *c, at(*c).*done};
    return std::nullopt;
  }

  void begin(std::size_t d, const PipelineOperation& operation, Nanoseconds now) {
    Device& device = devices_[d];
    Chunk& chunk = at(operation.chunk);
    const PipelineChunk& sizes = pipeline_.chunk(operation.chunk);
    device.busy = true;
    device.order.push_back(operation);
    if (operation.kind == kForward) {
      ++chunk.forwards;
      device.held += sizes.until_backward + sizes.until_weight;
    } else if (operation.kind == kBackward) {
      ++chunk.backwards;
    } else {
      ++chunk.weights;
    }
    const Nanoseconds end = now + duration(pipeline_, operation);
    events_.push({end, operation.kind, operation.chunk, false});
    expect(operation, end);
  }

  // Its result is on its way to a neighbour as soon as it has begun.
  void expect(const PipelineOperation& operation, Nanoseconds end) {
    const std::int32_t c = operation.chunk;
    if (operation.kind == kForward && c + 1 < pipeline_.chunks())
      at(c + 1).forwards_coming.push_back(end + pipeline_.transfer(c, c + 1));
    if (operation.kind == kBackward && c > 0)
      at(c - 1).gradients_coming.push_back(end + pipeline_.transfer(c, c - 1));
  }

  static constexpr std::int64_t kStepsALook = 4096;

  const Pipeline& pipeline_;
  const PipelineListRule& rule_;
  const std::function<bool()>& stop_;
  std::vector<Chunk> chunks_;
  std::vector<Device> devices_;
  std::priority_queue<Event> events_;
  std::vector<std::int32_t> touched_;  // devices, by the events of one time
  std::int64_t steps_ = 0;
};

}  // namespace

std::optional<PipelineSchedule> list_pipeline(const Pipeline& pipeline,
                                              const PipelineListRule& rule,
                                              const std::function<bool()>& stop) {
  ESPALIER_ASSERT(rule.memory.size() == static_cast<std::size_t>(pipeline.devices()),
                  "a bound for each device");
  return ListScheduler(pipeline, rule, stop).run();
}

}  // namespace espalier
