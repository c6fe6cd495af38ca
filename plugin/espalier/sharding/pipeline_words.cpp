#include "espalier/sharding/pipeline_words.h"

#include <algorithm>
#include <array>

#include "espalier/model/error.h"

namespace espalier {

namespace {

using enum PipelineKind;

constexpr std::array<PipelineKind, 3> kKinds = {kForward, kBackward, kWeight};
constexpr Nanoseconds kNotYet = -1;

}  // namespace

PipelineWords::PipelineWords(const Pipeline& pipeline, const PipelineSchedule& start,
                             PipelineObjective objective,
                             std::optional<Bytes> memory_bound)
    : span_(objective == PipelineObjective::kSpan),
      bound_(memory_bound),
      chunks_(static_cast<std::size_t>(pipeline.chunks())),
      micro_batches_(static_cast<std::size_t>(pipeline.micro_batches())),
      letters_(kKinds.size() * chunks_),
      ends_(letters_.size() * micro_batches_),
      places_(ends_.size()),
      counts_(letters_.size()),
      devices_(start.orders.size()) {
  for (std::size_t c = 0; c < chunks_; ++c) describe(pipeline, c);
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    devices_[d].persistent = pipeline.persistent(static_cast<std::int32_t>(d));
    for (const PipelineOperation& operation : start.orders[d])
      devices_[d].word.push_back(
          letter(operation.kind, static_cast<std::size_t>(operation.chunk)));
  }
}

PipelineWords::Letter PipelineWords::letter(PipelineKind kind, std::size_t chunk) const {
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  ESPALIER_ASSERT(found != kKinds.end(), "F, B and W alone");
  const auto k = static_cast<std::size_t>(found - kKinds.begin());
  return static_cast<Letter>(k * chunks_ + chunk);
}

void PipelineWords::describe(const Pipeline& pipeline, std::size_t c) {
  const auto number = static_cast<std::int32_t>(c);
  const PipelineChunk& chunk = pipeline.chunk(number);
  const Letter f = letter(kForward, c), b = letter(kBackward, c), w = letter(kWeight, c);
  const Bytes all = chunk.until_backward + chunk.until_weight;
  letters_[f] = {chunk.forward, all, {}, {}, 0, {}};
  letters_[b] = {chunk.backward, -chunk.until_backward, f, {}, 0, {}};
  letters_[w] = {chunk.weight, -chunk.until_weight, b, {}, 0, {}};
  if (c > 0) {
    letters_[f].other = letter(kForward, c - 1);
    letters_[f].transfer = pipeline.transfer(number - 1, number);
    letters_[b].reader = static_cast<std::size_t>(pipeline.chunk(number - 1).device);
  }
  if (c + 1 < chunks_) {
    letters_[b].other = letter(kBackward, c + 1);
    letters_[b].transfer = pipeline.transfer(number + 1, number);
    letters_[f].reader = static_cast<std::size_t>(pipeline.chunk(number + 1).device);
  }
}

Nanoseconds PipelineWords::longest_operation() const {
  Nanoseconds longest = 0;
  for (const Kind& kind : letters_) longest = std::max(longest, kind.time);
  return longest;
}

bool PipelineWords::is_possible(std::size_t d) {
  const Device& device = devices_[d];
  for (const Letter l : device.word) counts_[l] = 0;
  Bytes held = device.persistent;
  for (const Letter l : device.word) {
    const Kind& kind = letters_[l];
    if (kind.own && counts_[l] == counts_[*kind.own]) return false;
    ++counts_[l];
    held += kind.bytes;
    if (bound_ && held > *bound_) return false;
  }
  return true;
}

std::optional<PipelineWords::Length> PipelineWords::run() {
  std::fill(counts_.begin(), counts_.end(), 0);
  std::fill(ends_.begin(), ends_.end(), kNotYet);
  for (std::size_t d = devices_.size(); d-- > 0;) {
    devices_[d].done = 0;
    devices_[d].free = 0;
    devices_[d].waits_for = kNothing;
    ready_.push_back(d);
  }
  while (!ready_.empty()) {
    const std::size_t d = ready_.back();
    ready_.pop_back();
    advance(d);
  }
  Length length;
  for (std::size_t d = 0; d < devices_.size(); ++d) {
    if (devices_[d].done < devices_[d].word.size()) return std::nullopt;
    length.longest = std::max(length.longest, own_length(d));
    length.sum += own_length(d);
  }
  return length;
}

// As far as the inputs of its operations are made.
void PipelineWords::advance(std::size_t d) {
  Device& device = devices_[d];
  device.starts.resize(device.word.size());
  device.before.resize(device.word.size());
  for (; device.done < device.word.size(); ++device.done) {
    const Letter l = device.word[device.done];
    const Kind& kind = letters_[l];
    const std::size_t i = counts_[l];
    const std::size_t before = kind.other ? *kind.other * micro_batches_ + i : kNothing;
    Nanoseconds start = device.free;
    if (kind.other) {
      if (ends_[before] == kNotYet) {
        device.waits_for = before;
        return;
      }
      start = std::max(start, ends_[before] + kind.transfer);
    }
    ++counts_[l];
    end(d, l * micro_batches_ + i, start, before);
  }
}

void PipelineWords::end(std::size_t d, std::size_t operation, Nanoseconds start,
                        std::size_t before) {
  Device& device = devices_[d];
  const Kind& kind = letters_[operation / micro_batches_];
  if (device.done == 0) device.first = start;
  device.starts[device.done] = start;
  device.before[device.done] = before;
  device.free = start + kind.time;
  ends_[operation] = device.free;
  places_[operation] = {d, device.done};
  if (!kind.reader || devices_[*kind.reader].waits_for != operation) return;
  devices_[*kind.reader].waits_for = kNothing;
  ready_.push_back(*kind.reader);
}

Nanoseconds PipelineWords::own_length(std::size_t d) const {
  return devices_[d].free - (span_ ? devices_[d].first : 0);
}

Nanoseconds PipelineWords::end_of(const Place& place) const {
  const Device& device = devices_[place.device];
  return device.starts[place.at] + letters_[device.word[place.at]].time;
}

void PipelineWords::longest_way(std::vector<Place>& way, std::mt19937_64& random) const {
  way.clear();
  std::size_t last = 0;
  for (std::size_t d = 1; d < devices_.size(); ++d)
    if (own_length(d) > own_length(last)) last = d;
  Place place{last, devices_[last].word.size() - 1};
  for (;;) {
    way.push_back(place);
    const Device& device = devices_[place.device];
    const Nanoseconds start = device.starts[place.at];
    const std::size_t before = device.before[place.at];
    const bool follows = place.at > 0 && end_of({place.device, place.at - 1}) == start;
    const Nanoseconds transfer = letters_[device.word[place.at]].transfer;
    const bool receives = before != kNothing && ends_[before] + transfer == start;
    if (receives && (!follows || random() % 2 == 0))
      place = places_[before];
    else if (follows)
      --place.at;
    else
      return;
  }
}

PipelineSchedule PipelineWords::schedule() const {
  PipelineSchedule schedule;
  for (const Device& device : devices_) {
    std::vector<std::int32_t> counts(letters_.size());
    std::vector<PipelineOperation>& order = schedule.orders.emplace_back();
    for (const Letter l : device.word)
      order.push_back(
          {kKinds[l / chunks_], static_cast<std::int32_t>(l % chunks_), counts[l]++});
  }
  return schedule;
}

}  // namespace espalier
