#include "espalier/sharding/named_pipelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "espalier/model/error.h"

namespace espalier {

namespace {

using enum PipelineKind;

constexpr std::array kNames = {"gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"};

/// The order of one device, written operation by operation. Each call takes the next
/// micro-batch of that kind and chunk, and does nothing when there is none left.
class OrderWriter {
 public:
  /// @param chunks  of the device, in the order of the network
  OrderWriter(std::vector<std::int32_t> chunks, std::int32_t micro_batches)
      : chunks_(std::move(chunks)),
        micro_batches_(micro_batches),
        next_(chunks_.size()) {}

  void forward(std::size_t c = 0) {
    if (next_[c].forward < micro_batches_) put(kForward, c, next_[c].forward++);
  }
  void backward(std::size_t c = 0) {
    if (next_[c].backward < next_[c].forward) put(kBackward, c, next_[c].backward++);
  }
  void weight(std::size_t c = 0) {
    if (next_[c].weight < next_[c].backward) put(kWeight, c, next_[c].weight++);
  }
  void both(std::size_t c = 0) {
    if (next_[c].backward >= next_[c].forward) return;
    put(kBoth, c, next_[c].backward++);
    ++next_[c].weight;
  }
  [[nodiscard]] std::int32_t forwards(std::size_t c = 0) const {
    return next_[c].forward;
  }
  [[nodiscard]] std::int32_t backwards(std::size_t c = 0) const {
    return next_[c].backward;
  }
  [[nodiscard]] std::int32_t weights(std::size_t c = 0) const { return next_[c].weight; }
  [[nodiscard]] std::int32_t micro_batches() const { return micro_batches_; }
  [[nodiscard]] std::vector<PipelineOperation> take() { return std::move(order_); }

 private:
  struct Next {
    std::int32_t forward = 0, backward = 0, weight = 0;
  };
  void put(PipelineKind kind, std::size_t c, std::int32_t i) {
    order_.push_back({kind, chunks_[c], i});
  }
  std::vector<std::int32_t> chunks_;
  std::int32_t micro_batches_;
  std::vector<Next> next_;
  std::vector<PipelineOperation> order_;
};

void write_gpipe(OrderWriter& order) {
  for (std::int32_t i = 0; i < order.micro_batches(); ++i) order.forward();
  for (std::int32_t i = 0; i < order.micro_batches(); ++i) order.both();
}

void write_one_forward_one_backward(OrderWriter& order, std::int32_t p, std::int32_t s) {
  for (std::int32_t i = 0; i < p - s; ++i) order.forward();
  while (order.backwards() < order.micro_batches()) {
    order.both();
    order.forward();
  }
}

// Micro-batches in groups of p; a group passes all chunks before the next one does.
void write_interleaved(OrderWriter& order, std::int32_t p, std::int32_t s,
                       std::int32_t v) {
  const std::int64_t all = std::int64_t{order.micro_batches()} * v;
  const std::int64_t first =
      std::min<std::int64_t>(2 * (p - s - 1) + std::int64_t{v - 1} * p, all);
  const auto chunk = [&](std::int64_t k) { return static_cast<std::size_t>(k / p % v); };
  const auto last_first = [&](std::int64_t k) {
    return static_cast<std::size_t>(v) - 1 - chunk(k);
  };
  for (std::int64_t k = 0; k < first; ++k) order.forward(chunk(k));
  for (std::int64_t k = 0; k < all; ++k) {
    if (first + k < all) order.forward(chunk(first + k));
    order.both(last_first(k));
  }
}

// Warm-up of so many forwards, then B, W, F in turn, each W `delay` micro-batches late.
void write_zero_bubble(OrderWriter& order, std::int32_t warm_up, std::int32_t delay) {
  for (std::int32_t i = 0; i < warm_up; ++i) order.forward();
  while (order.backwards() < order.micro_batches()) {
    order.backward();
    if (order.backwards() - order.weights() > delay) order.weight();
    order.forward();
  }
  while (order.weights() < order.micro_batches()) order.weight();
}

// Chunk 0 of the device lies on the way down, chunk 1 on the way up.
void write_zero_bubble_v(OrderWriter& order, std::int32_t p, std::int32_t s) {
  constexpr std::size_t kDown = 0, kUp = 1;
  const auto pass = [&](std::size_t c) {
    order.forward(c);
    order.backward(c);
    order.weight(c);
  };
  // Warm-up: down until the first comes up again, then both in turn.
  for (std::int32_t i = 0; i < 2 * (p - s) - 1; ++i) order.forward(kDown);
  for (std::int32_t i = 0; i < s; ++i) {
    order.forward(kUp);
    order.forward(kDown);
  }
  for (std::int32_t i = 0; i < p - s; ++i) pass(kUp);
  while (order.forwards(kUp) < order.micro_batches()) {
    pass(kDown);
    pass(kUp);
  }
  // End: input gradients first, weight gradients where devices would wait.
  for (std::int32_t i = 0; i < s; ++i) {
    order.backward(kDown);
    order.backward(kUp);
  }
  while (order.backwards(kDown) < order.micro_batches()) {
    order.backward(kUp);
    order.backward(kDown);
    order.weight(kDown);
  }
  for (const std::size_t c : {kUp, kDown})
    while (order.weights(c) < order.micro_batches()) order.weight(c);
}

std::int32_t chunks_of_a_device(const Pipeline& pipeline, PipelineScheme scheme) {
  const std::int32_t v = pipeline.chunks() / pipeline.devices();
  bool fits = v * pipeline.devices() == pipeline.chunks();
  if (scheme != PipelineScheme::kInterleaved)
    fits &= v == (scheme == PipelineScheme::kZeroBubbleV ? 2 : 1);
  if (fits) {
    const auto devices = chunk_devices(scheme, pipeline.devices(), v);
    for (std::int32_t c = 0; c < pipeline.chunks(); ++c)
      fits &= devices[static_cast<std::size_t>(c)] == pipeline.chunk(c).device;
  }
  if (!fits)
    throw InvalidInput(
        fmt::format("the {} chunks of the pipeline do not lie on its {} devices as {} "
                    "has them",
                    pipeline.chunks(), pipeline.devices(), name(scheme)));
  if (scheme == PipelineScheme::kInterleaved &&
      pipeline.micro_batches() % pipeline.devices() != 0)
    throw InvalidInput(fmt::format(
        "{} micro-batches are not a multiple of the {} devices, as interleaved needs",
        pipeline.micro_batches(), pipeline.devices()));
  return v;
}

}  // namespace

std::string_view name(PipelineScheme scheme) {
  return kNames[static_cast<std::size_t>(scheme)];
}

std::optional<PipelineScheme> parse_pipeline_scheme(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<PipelineScheme>(found - kNames.begin());
}

std::vector<std::int32_t> chunk_devices(PipelineScheme scheme, std::int32_t devices,
                                        std::int32_t per_device) {
  std::vector<std::int32_t> result;
  for (std::int32_t v = 0; v < per_device; ++v)
    for (std::int32_t d = 0; d < devices; ++d)
      result.push_back(
          scheme == PipelineScheme::kZeroBubbleV && v % 2 == 1 ? devices - 1 - d : d);
  return result;
}

PipelineSchedule named_pipeline(const Pipeline& pipeline, PipelineScheme scheme) {
  const std::int32_t p = pipeline.devices();
  const std::int32_t v = chunks_of_a_device(pipeline, scheme);
  PipelineSchedule schedule;
  for (std::int32_t s = 0; s < p; ++s) {
    std::vector<std::int32_t> chunks;
    for (std::int32_t c = 0; c < pipeline.chunks(); ++c)
      if (pipeline.chunk(c).device == s) chunks.push_back(c);
    OrderWriter order(std::move(chunks), pipeline.micro_batches());
    switch (scheme) {
      case PipelineScheme::kGpipe:
        write_gpipe(order);
        break;
      case PipelineScheme::kOneForwardOneBackward:
        write_one_forward_one_backward(order, p, s);
        break;
      case PipelineScheme::kInterleaved:
        write_interleaved(order, p, s, v);
        break;
      case PipelineScheme::kZeroBubbleH1:
        write_zero_bubble(order, p - s, s);
        break;
      case PipelineScheme::kZeroBubbleH2:
        write_zero_bubble(order, 2 * (p - s) - 1, 2 * s);
        break;
      case PipelineScheme::kZeroBubbleV:
        write_zero_bubble_v(order, p, s);
        break;
    }
    schedule.orders.push_back(order.take());
  }
  return schedule;
}

}  // namespace espalier
