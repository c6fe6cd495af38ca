#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// The schedules that training systems have names for. With unit costs f, b, w of a
/// device's part, p devices and m micro-batches they wait and hold
///
///   scheme       idle of the step            micro-batches held by device s
///   gpipe        (p-1)(f+b+w)                m                              [Huang19]
///   1f1b         (p-1)(f+b+w)                min(p-s, m) [Narayanan19] interleaved
///   (p-1)(f+b+w)/v, p | m       min(2(p-s-1)+(v-1)p+1, mv)/v   [Narayanan21] zb-h1
///   (p-1)(f+b-w)                p                              [Qi24] zb-h2        0
///   inside each device, m >= 2p-1      2p-1                  [Qi24] zb-v         0
///   inside each device, m >= 2p-1      p (2p halves)         [Qi24V]
///
/// the last two with f = b = w. The first three have one operator for both gradients; in
/// the others W is an operator of its own, late enough to fill what would be idle.
enum class PipelineScheme : std::uint8_t {
  kGpipe,
  kOneForwardOneBackward,
  kInterleaved,
  kZeroBubbleH1,
  kZeroBubbleH2,
  kZeroBubbleV
};

/// "gpipe", "1f1b", "interleaved", "zb-h1", "zb-h2", "zb-v"
[[nodiscard]] std::string_view name(PipelineScheme scheme);
/// Nothing for another name.
[[nodiscard]] std::optional<PipelineScheme> parse_pipeline_scheme(std::string_view name);

/// The device of each chunk: 0 … p-1, `interleaved` v times over, `zb-v` down and up
/// again.
/// @param per_device  v, chunks of a device: 1 for the rest, 2 for zb-v
[[nodiscard]] std::vector<std::int32_t> chunk_devices(PipelineScheme scheme,
                                                      std::int32_t devices,
                                                      std::int32_t per_device);

/// The schedule of that name.
///
/// @param pipeline  its chunks lie as chunk_devices() says
/// @throws InvalidInput when they do not, or for `interleaved` when p does not divide m
/// @par Cost  O(operations)
/// @par Test  NamedPipelines.WaitAndHoldWhatTheFormulasSay
[[nodiscard]] PipelineSchedule named_pipeline(const Pipeline& pipeline,
                                              PipelineScheme scheme);

}  // namespace espalier
