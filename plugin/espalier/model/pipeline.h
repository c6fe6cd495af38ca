#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/chain.h"
#include "espalier/model/units.h"

namespace espalier {

/// A part of a network, as one micro-batch meets it.
struct PipelineChunk {
  std::int32_t device = 0;
  Nanoseconds forward = 1;   ///< f
  Nanoseconds backward = 1;  ///< b: gradient of the input alone
  Nanoseconds weight = 1;    ///< w: gradients of the weights
  Bytes until_backward = 0;  ///< held from the begin of F to the end of B
  Bytes until_weight = 0;    ///< held from the begin of F to the end of W
};

/// What a device of a pipeline does and holds for one micro-batch, all its chunks
/// together, and what it holds all the time.
struct PipelineStage {
  Nanoseconds forward = 1, backward = 1, weight = 1;
  Bytes until_backward = 0, until_weight = 0;
  Bytes persistent = 0;
};

/// A question: a step of training, m micro-batches through a chain of chunks that lie on
/// p devices.
///
/// Micro-batch i passes F_0 … F_{V-1} and then B_{V-1} … B_0. F_c follows F_{c-1}, B_c
/// follows B_{c+1} and F_c, W_c follows B_c, all of the same micro-batch; what passes to
/// another device comes `transfer` later. A device runs one operation at a time.
class Pipeline {
 public:
  /// @param chunks      at least one; devices 0 … p-1, each with a chunk
  /// @param persistent  by device: weights, gradients, states; empty: none
  /// @throws InvalidInput naming chunk and value; OverflowError where all the work or all
  ///         the bytes together leave the 64-bit range
  Pipeline(std::vector<PipelineChunk> chunks, std::int32_t micro_batches,
           Nanoseconds transfer = 0, std::vector<Bytes> persistent = {});

  [[nodiscard]] std::int32_t devices() const {
    return static_cast<std::int32_t>(persistent_.size());
  }
  [[nodiscard]] std::int32_t chunks() const {
    return static_cast<std::int32_t>(chunks_.size());
  }
  [[nodiscard]] std::int32_t micro_batches() const { return micro_batches_; }
  [[nodiscard]] const PipelineChunk& chunk(std::int32_t c) const {
    return chunks_[static_cast<std::size_t>(c)];
  }
  [[nodiscard]] Bytes persistent(std::int32_t device) const {
    return persistent_[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] Nanoseconds transfer() const { return transfer_; }
  /// How much later than its end what chunk `from` makes can be used by chunk `to`.
  [[nodiscard]] Nanoseconds transfer(std::int32_t from, std::int32_t to) const {
    return chunk(from).device == chunk(to).device ? 0 : transfer_;
  }
  /// Of one micro-batch and all chunks of a device.
  [[nodiscard]] Nanoseconds work(std::int32_t device) const;

 private:
  std::vector<PipelineChunk> chunks_;
  std::int32_t micro_batches_;
  Nanoseconds transfer_;
  std::vector<Bytes> persistent_;
};

/// kBackward is the gradient of the input alone, kWeight that of the weights; kBoth is
/// one operator for both, whose result for the chunk before is there at its end only.
enum class PipelineKind : std::uint8_t { kForward, kBackward, kWeight, kBoth };
/// "F", "B", "W", "BW"
[[nodiscard]] std::string_view name(PipelineKind kind);

struct PipelineOperation {
  PipelineKind kind = PipelineKind::kForward;
  std::int32_t chunk = 0;
  std::int32_t micro_batch = 0;
  bool operator==(const PipelineOperation&) const = default;
};

/// The answer: the order of each device. Operations start as soon as they can in it.
struct PipelineSchedule {
  std::vector<std::vector<PipelineOperation>> orders;
};

/// "F3.0" is the forward of micro-batch 3 in chunk 0.
[[nodiscard]] std::string describe(const PipelineOperation& operation);

[[nodiscard]] Nanoseconds duration(const Pipeline& pipeline,
                                   const PipelineOperation& operation);

}  // namespace espalier
