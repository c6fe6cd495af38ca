#include <algorithm>
#include <limits>

#include "espalier/sharding/search_pipeline.h"

namespace espalier {

namespace {

__extension__ using Wide = __int128;

/// Ways of one micro-batch through the chunks, without waiting.
struct Ways {
  std::vector<Nanoseconds> to_forward;       ///< by chunk: until its F begins
  std::vector<Nanoseconds> to_backward_end;  ///< from there until its B has ended
  std::vector<Nanoseconds> back;             ///< from there until B of chunk 0 has ended
  Nanoseconds forth_and_back = 0;            ///< until the last operation has ended
};

Ways ways_of(const Pipeline& pipeline) {
  const std::int32_t count = pipeline.chunks();
  const auto n = static_cast<std::size_t>(count);
  Ways ways{std::vector<Nanoseconds>(n), std::vector<Nanoseconds>(n),
            std::vector<Nanoseconds>(n), 0};
  for (std::int32_t c = 1; c < count; ++c) {
    const auto k = static_cast<std::size_t>(c);
    const Nanoseconds moved = pipeline.transfer(c - 1, c);
    ways.to_forward[k] = ways.to_forward[k - 1] + pipeline.chunk(c - 1).forward + moved;
    ways.back[k] = ways.back[k - 1] + pipeline.chunk(c - 1).backward + moved;
  }
  for (std::int32_t c = count - 1; c >= 0; --c) {
    const auto k = static_cast<std::size_t>(c);
    const Nanoseconds beyond =
        c + 1 == count ? 0
                       : 2 * pipeline.transfer(c, c + 1) + ways.to_backward_end[k + 1];
    ways.to_backward_end[k] =
        pipeline.chunk(c).forward + beyond + pipeline.chunk(c).backward;
    ways.forth_and_back = std::max(ways.forth_and_back,
                                   ways.to_forward[k] + ways.to_backward_end[k] +
                                       std::max(ways.back[k], pipeline.chunk(c).weight));
  }
  return ways;
}

/// Time in which the memory of a device can hold what m micro-batches occupy on it.
Nanoseconds time_of_memory(const Pipeline& pipeline, const Ways& ways, std::int32_t d,
                           Bytes bound) {
  Wide area = 0;
  for (std::int32_t c = 0; c < pipeline.chunks(); ++c) {
    const PipelineChunk& chunk = pipeline.chunk(c);
    if (chunk.device != d) continue;
    const Wide stay = ways.to_backward_end[static_cast<std::size_t>(c)];
    area += chunk.until_backward * stay + chunk.until_weight * (stay + chunk.weight);
  }
  const Wide room = bound - pipeline.persistent(d);
  if (room <= 0) return 0;
  const Wide time = (area * pipeline.micro_batches() + room - 1) / room;
  return static_cast<Nanoseconds>(
      std::min<Wide>(time, std::numeric_limits<Nanoseconds>::max() / 4));
}

}  // namespace

Nanoseconds pipeline_lower_bound(const Pipeline& pipeline,
                                 std::optional<Bytes> memory_bound,
                                 PipelineObjective objective) {
  const Ways ways = ways_of(pipeline);
  const bool whole = objective == PipelineObjective::kMakespan;
  const std::int64_t m = pipeline.micro_batches();
  const Nanoseconds most = std::numeric_limits<Nanoseconds>::max();
  Nanoseconds bound = whole ? ways.forth_and_back : 0;
  for (std::int32_t d = 0; d < pipeline.devices(); ++d) {
    Nanoseconds head = most, back = most, weights = 0;
    for (std::int32_t c = 0; c < pipeline.chunks(); ++c) {
      if (pipeline.chunk(c).device != d) continue;
      head = std::min(head, ways.to_forward[static_cast<std::size_t>(c)]);
      back = std::min(back, ways.back[static_cast<std::size_t>(c)]);
      weights += pipeline.chunk(c).weight;
    }
    if (!whole) head = back = 0;
    const Nanoseconds work = m * pipeline.work(d);
    bound = std::max({bound, head + work, head + work - m * weights + back});
    if (memory_bound)
      bound = std::max(bound, head + time_of_memory(pipeline, ways, d, *memory_bound));
  }
  return bound;
}

}  // namespace espalier
