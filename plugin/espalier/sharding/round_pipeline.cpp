// Over 300 lines: warm-up and rounds put operations into one state of all devices.

#include "espalier/sharding/round_pipeline.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <utility>

#include "espalier/model/error.h"

namespace espalier {

namespace {

using enum PipelineKind;

class RoundScheduler {
 public:
  RoundScheduler(const Pipeline& pipeline, const PipelineRoundRule& rule)
      : pipeline_(pipeline),
        rule_(rule),
        chunks_(static_cast<std::size_t>(pipeline.chunks())),
        devices_(static_cast<std::size_t>(pipeline.devices())) {
    for (std::int32_t d = 0; d < pipeline.devices(); ++d)
      devices_[static_cast<std::size_t>(d)].held = pipeline.persistent(d);
    for (std::int32_t c = 0; c < pipeline.chunks(); ++c) device_of(c).chunks.push_back(c);
  }

  std::optional<PipelineRounds> run() {
    first_micro_batch();
    if (pipeline_.chunks() > pipeline_.devices())
      level_forwards();
    else
      first_backwards();
    while (!all_backwards()) {
      const std::size_t before = operations_;
      half_round(rule_.backward_first ? kBackward : kForward);
      half_round(rule_.backward_first ? kForward : kBackward);
      if (operations_ == before) return std::nullopt;
    }
    PipelineRounds result;
    for (Device& device : devices_) {
      while (!device.pending.empty()) put_weight(device);
      result.waits.push_back(device.waited);
      result.schedule.orders.push_back(std::move(device.order));
    }
    return result;
  }

 private:
  struct Chunk {
    std::vector<Nanoseconds> forwards, backwards;  // their ends, by micro-batch
    std::int32_t weights = 0;
  };
  struct Device {
    std::vector<std::int32_t> chunks;
    std::vector<PipelineOperation> order;
    std::deque<std::int32_t> pending;  // chunks whose W can run, oldest first
    Bytes held = 0;
    Nanoseconds free = 0, waited = 0;
  };

  Device& device_of(std::int32_t c) {
    return devices_[static_cast<std::size_t>(pipeline_.chunk(c).device)];
  }
  Chunk& at(std::int32_t c) { return chunks_[static_cast<std::size_t>(c)]; }
  std::vector<Nanoseconds>& ends(PipelineKind kind, std::int32_t c) {
    return kind == kForward ? at(c).forwards : at(c).backwards;
  }

  /// When what the next F or B of a chunk needs has come; nothing where it is not made,
  /// or there is no next one.
  std::optional<Nanoseconds> arrival(PipelineKind kind, std::int32_t c) {
    const std::size_t i = ends(kind, c).size();
    if (i == static_cast<std::size_t>(pipeline_.micro_batches())) return std::nullopt;
    if (kind == kBackward && at(c).forwards.size() <= i) return std::nullopt;
    const std::int32_t other = kind == kForward ? c - 1 : c + 1;
    if (other < 0) return 0;
    if (other == pipeline_.chunks()) return at(c).forwards[i];
    if (ends(kind, other).size() <= i) return std::nullopt;
    return ends(kind, other)[i] + pipeline_.transfer(other, c);
  }

  /// Room for a forward of chunk c and, in the warm-up, for the device's chunks after it.
  bool has_room(std::int32_t c, bool with_later = false) {
    const Device& device = device_of(c);
    Bytes room = device.held;
    for (const std::int32_t other : device.chunks)
      if (other == c || (with_later && other > c))
        room +=
            pipeline_.chunk(other).until_backward + pipeline_.chunk(other).until_weight;
    return room <= rule_.memory[static_cast<std::size_t>(pipeline_.chunk(c).device)];
  }

  void append(Device& device, const PipelineOperation& operation, Nanoseconds start) {
    if (!device.order.empty()) device.waited += start - device.free;
    device.free = start + duration(pipeline_, operation);
    device.order.push_back(operation);
    ++operations_;
  }

  void put(PipelineKind kind, std::int32_t c) {
    Device& device = device_of(c);
    const PipelineChunk& sizes = pipeline_.chunk(c);
    std::vector<Nanoseconds>& made = ends(kind, c);
    append(device, {kind, c, static_cast<std::int32_t>(made.size())},
           std::max(device.free, *arrival(kind, c)));
    made.push_back(device.free);
    if (kind == kForward) {
      device.held += sizes.until_backward + sizes.until_weight;
    } else {
      device.held -= sizes.until_backward;
      device.pending.push_back(c);
    }
  }

  void put_weight(Device& device) {
    const std::int32_t c = device.pending.front();
    device.pending.pop_front();
    append(device, {kWeight, c, at(c).weights++}, device.free);
    device.held -= pipeline_.chunk(c).until_weight;
  }

  /// What the device may still wait without being the one that waits longest.
  [[nodiscard]] Nanoseconds slack(const Device& device) const {
    Nanoseconds most = 0;
    for (const Device& each : devices_) most = std::max(most, each.waited);
    if (!rule_.waits.empty()) {
      const auto d = static_cast<std::size_t>(&device - devices_.data());
      most = std::max(most, *std::ranges::max_element(rule_.waits) - rule_.waits[d]);
    }
    return most - device.waited;
  }

  // Weight gradients into what the device would wait.
  void fill(Device& device, Nanoseconds until, PartlyFilled partly) {
    const auto weight = [&] { return pipeline_.chunk(device.pending.front()).weight; };
    while (!device.pending.empty() && device.free + weight() <= until) put_weight(device);
    if (device.pending.empty() || device.free >= until) return;
    if (partly == PartlyFilled::kAlways ||
        (partly == PartlyFilled::kAgainstTheMost && until - device.free > slack(device)))
      put_weight(device);
  }

  // -- Warm-up --

  /// The next forward of chunk c, and before it those that it needs, where all have room.
  bool pull(std::int32_t c) {
    const std::size_t i = at(c).forwards.size();
    if (i == static_cast<std::size_t>(pipeline_.micro_batches())) return false;
    std::int32_t from = c;
    while (from > 0 && at(from - 1).forwards.size() <= i) --from;
    for (std::int32_t k = from; k <= c; ++k)
      if (!has_room(k, true)) return false;
    for (std::int32_t k = from; k <= c; ++k) put(kForward, k);
    return true;
  }

  // Further forwards of chunk c while the device waits until a time, up to so many.
  void fill_with_forwards(std::int32_t c, Nanoseconds until, std::size_t most) {
    const bool more =
        rule_.warm_up == WarmUp::kOneMore && pipeline_.chunks() == pipeline_.devices();
    const Nanoseconds own = more ? 1 : pipeline_.chunk(c).forward;
    while (at(c).forwards.size() < most && device_of(c).free + own <= until && pull(c)) {
    }
  }

  void first_micro_batch() {
    for (std::int32_t c = 0; c < pipeline_.chunks(); ++c) {
      const std::int32_t earlier = device_of(c).chunks.front();
      if (earlier < c && rule_.warm_up != WarmUp::kStaircase)
        fill_with_forwards(earlier, *arrival(kForward, c),
                           rule_.warm_up == WarmUp::kOneMore ? room_for(earlier)
                                                             : most_going_down(earlier));
      put(kForward, c);
    }
  }

  // Every device as many forwards as the one before it, of its chunks in turn.
  void level_forwards() {
    std::size_t turn = 0;
    for (std::size_t d = 1; d < devices_.size(); ++d) {
      for (std::size_t idle = 0; forwards(d) < forwards(d - 1) && idle < kMostIdle;) {
        const std::size_t before = operations_;
        for (std::int32_t c = 0; c < pipeline_.chunks(); ++c)
          if (lies_from(d, c, turn) && arrival(kForward, c) && has_room(c))
            put(kForward, c);
        idle = operations_ == before ? idle + 1 : 0;
        turn = (turn + 1) % devices_[d].chunks.size();
      }
    }
  }

  /// Is chunk c the k-th of a device that is d or after it?
  bool lies_from(std::size_t d, std::int32_t c, std::size_t k) {
    const auto& chunks = device_of(c).chunks;
    return static_cast<std::size_t>(pipeline_.chunk(c).device) >= d &&
           k < chunks.size() && chunks[k] == c;
  }

  std::size_t forwards(std::size_t d) {
    std::size_t sum = 0;
    for (const std::int32_t c : devices_[d].chunks) sum += at(c).forwards.size();
    return sum;
  }

  /// Forwards of a chunk that its device has room for.
  std::size_t room_for(std::int32_t c) {
    const PipelineChunk& sizes = pipeline_.chunk(c);
    const Bytes each = sizes.until_backward + sizes.until_weight;
    const Bytes room = rule_.memory[static_cast<std::size_t>(sizes.device)] -
                       pipeline_.persistent(sizes.device);
    const auto all = static_cast<std::size_t>(pipeline_.micro_batches());
    return each > 0 ? std::min(all, static_cast<std::size_t>(room / each)) : all;
  }

  /// One less than the device before it: of more the last would only wait.
  std::vector<std::size_t> most_forwards() {
    std::vector<std::size_t> most;
    for (std::int32_t c = 0; c < pipeline_.chunks(); ++c) {
      std::size_t own = room_for(c);
      if (c > 0 && own < static_cast<std::size_t>(pipeline_.micro_batches()))
        own = std::min(own, std::max<std::size_t>(most.back(), 2) - 1);
      most.push_back(own);
    }
    return most;
  }

  /// Before the first micro-batch comes back: the others keep room for their way down and
  /// up again past the devices before this one.
  std::size_t most_going_down(std::int32_t c) {
    const std::size_t kept = 2 * static_cast<std::size_t>(pipeline_.chunk(c).device) + 1;
    return std::max(room_for(c), kept + 1) - kept;
  }

  void first_backwards() {
    const std::vector<std::size_t> most = most_forwards();
    for (std::int32_t c = pipeline_.chunks(); c-- > 0;) {
      const bool last = c + 1 == pipeline_.chunks();
      if (rule_.warm_up == WarmUp::kStaircase)
        fill_with_forwards(c, kAnyTime, static_cast<std::size_t>(pipeline_.chunks() - c));
      else if (!last)
        fill_with_forwards(c, *arrival(kBackward, c), most[static_cast<std::size_t>(c)]);
      put(kBackward, c);
    }
  }

  // -- Rounds --

  bool all_backwards() {
    return at(0).backwards.size() == static_cast<std::size_t>(pipeline_.micro_batches());
  }

  /// Whose turn it is on a device: of the chunks whose input was made before the round
  /// the farthest on the way, else the first on the way, which the round itself may
  /// reach.
  std::int32_t choice(const Device& device, PipelineKind kind) {
    const auto& chunks = device.chunks;
    if (kind == kForward) {
      for (auto c = chunks.rbegin(); c != chunks.rend(); ++c)
        if (arrival(kind, *c)) return *c;
      return chunks.front();
    }
    for (const std::int32_t c : chunks)
      if (arrival(kind, c)) return c;
    for (auto c = chunks.rbegin(); c != chunks.rend(); ++c)
      if (at(*c).backwards.size() < at(*c).forwards.size()) return *c;
    return chunks.front();
  }

  /// When the gradient of the next device could be there, if that runs F and B first.
  Nanoseconds next_gradient(std::int32_t c) {
    const PipelineChunk& next = pipeline_.chunk(c + 1);
    return device_of(c + 1).free + next.forward + next.backward +
           pipeline_.transfer(c + 1, c);
  }

  /// How long W take that memory asks for before a forward of chunk c.
  Nanoseconds weights_before(std::int32_t c) {
    const PipelineChunk& sizes = pipeline_.chunk(c);
    const Device& device = device_of(c);
    Bytes over = device.held + sizes.until_backward + sizes.until_weight -
                 rule_.memory[static_cast<std::size_t>(sizes.device)];
    Nanoseconds time = 0;
    for (std::size_t k = 0; over > 0 && k < device.pending.size(); ++k) {
      over -= sizes.until_weight;
      time += sizes.weight;
    }
    return time;
  }

  bool leaves_forward(std::int32_t c) {
    const std::size_t made = at(c).forwards.size();
    if (made == static_cast<std::size_t>(pipeline_.micro_batches())) return false;
    if (c + 1 >= pipeline_.chunks() || made < at(c + 1).forwards.size() + 2) return false;
    const Device& device = device_of(c);
    const Nanoseconds gradient = next_gradient(c);
    if (device.free >= gradient) return true;
    if (device.free + weights_before(c) + pipeline_.chunk(c).forward <= gradient)
      return false;
    return gradient - device.free <= slack(device);
  }

  // Chunks from which on a round has forwards: none before one that leaves its own.
  std::int32_t first_forward() {
    if (!rule_.leave_forwards || pipeline_.chunks() != pipeline_.devices()) return 0;
    std::int32_t first = 0;
    for (std::int32_t c = 0; c < pipeline_.chunks(); ++c)
      if (leaves_forward(c)) first = c + 1;
    return first;
  }

  // Each device at most one operation; gradients that are nearly home first. Who comes
  // later sees how long the others have waited.
  void half_round(PipelineKind kind) {
    std::vector<std::int32_t> choices;
    for (const Device& device : devices_) choices.push_back(choice(device, kind));
    const std::int32_t first = kind == kForward ? first_forward() : 0;
    const auto serve = [&](std::size_t d) {
      if (choices[d] >= first && arrival(kind, choices[d])) turn(kind, choices[d]);
    };
    const auto home = [&](std::size_t d) {
      return kind == kBackward && choices[d] == devices_[d].chunks.front();
    };
    for (std::size_t d = devices_.size(); d-- > 0;)
      if (home(d)) serve(d);
    for (std::size_t d = 0; d < devices_.size(); ++d)
      if (!home(d)) serve(d);
  }

  void turn(PipelineKind kind, std::int32_t c) {
    Device& device = device_of(c);
    if (kind == kForward) {
      while (!has_room(c) && !device.pending.empty()) put_weight(device);
      if (!has_room(c)) return;
    }
    fill(device, *arrival(kind, c),
         kind == kForward ? rule_.before_forward : rule_.before_backward);
    put(kind, c);
  }

  static constexpr std::size_t kMostIdle = 2;
  static constexpr Nanoseconds kAnyTime = std::numeric_limits<Nanoseconds>::max();

  const Pipeline& pipeline_;
  const PipelineRoundRule& rule_;
  std::vector<Chunk> chunks_;
  std::vector<Device> devices_;
  std::size_t operations_ = 0;
};

}  // namespace

std::optional<PipelineRounds> round_pipeline(const Pipeline& pipeline,
                                             const PipelineRoundRule& rule) {
  ESPALIER_ASSERT(rule.memory.size() == static_cast<std::size_t>(pipeline.devices()),
                  "a bound for each device");
  return RoundScheduler(pipeline, rule).run();
}

}  // namespace espalier
