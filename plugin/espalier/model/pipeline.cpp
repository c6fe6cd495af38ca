#include "espalier/model/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "espalier/model/error.h"

namespace espalier {

namespace {

void check_chunk(std::size_t c, const PipelineChunk& chunk, std::size_t devices) {
  const auto refuse = [&](const char* what, std::int64_t value) {
    throw InvalidInput(fmt::format("chunk {} of the pipeline: {} {}", c, what, value));
  };
  if (chunk.device < 0 || static_cast<std::size_t>(chunk.device) >= devices)
    refuse("no such device:", chunk.device);
  if (chunk.forward < 0) refuse("negative forward time", chunk.forward);
  if (chunk.backward < 0) refuse("negative backward time", chunk.backward);
  if (chunk.weight < 0) refuse("negative time of weight gradients", chunk.weight);
  if (chunk.until_backward < 0) refuse("negative size", chunk.until_backward);
  if (chunk.until_weight < 0) refuse("negative size", chunk.until_weight);
}

// All work one after the other, and all bytes at once, must be numbers.
void add_to(std::int64_t& sum, std::int64_t part, std::int32_t times,
            std::string_view place, std::size_t number) {
  try {
    sum = checked_add(sum, checked_mul(part, times));
  } catch (const OverflowError&) {
    throw OverflowError(fmt::format(
        "{} {} of the pipeline: with {}, {} times, the sum of all such leaves the 64-bit "
        "range",
        place, number, part, times));
  }
}

std::size_t devices_of(const std::vector<PipelineChunk>& chunks) {
  std::int32_t last = 0;
  for (const PipelineChunk& chunk : chunks) last = std::max(last, chunk.device);
  return static_cast<std::size_t>(last) + 1;
}

}  // namespace

Pipeline::Pipeline(std::vector<PipelineChunk> chunks, std::int32_t micro_batches,
                   Nanoseconds transfer, std::vector<Bytes> persistent)
    : chunks_(std::move(chunks)),
      micro_batches_(micro_batches),
      transfer_(transfer),
      persistent_(std::move(persistent)) {
  if (chunks_.empty()) throw InvalidInput("a pipeline without chunks");
  if (micro_batches_ < 1)
    throw InvalidInput(fmt::format("a pipeline of {} micro-batches", micro_batches_));
  if (transfer_ < 0) throw InvalidInput(fmt::format("a transfer of {} ns", transfer_));
  if (persistent_.empty()) persistent_.resize(devices_of(chunks_));
  std::vector<bool> used(persistent_.size());
  std::int64_t time = 0, bytes = 0;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    const PipelineChunk& chunk = chunks_[c];
    check_chunk(c, chunk, persistent_.size());
    used[static_cast<std::size_t>(chunk.device)] = true;
    for (const Nanoseconds part :
         {chunk.forward, chunk.backward, chunk.weight, transfer_, transfer_})
      add_to(time, part, micro_batches_, "chunk", c);
    for (const Bytes part : {chunk.until_backward, chunk.until_weight})
      add_to(bytes, part, micro_batches_, "chunk", c);
  }
  for (std::size_t d = 0; d < persistent_.size(); ++d) {
    if (!used[d]) throw InvalidInput(fmt::format("device {} has no chunk", d));
    if (persistent_[d] < 0)
      throw InvalidInput(fmt::format("device {}: negative size {}", d, persistent_[d]));
    add_to(bytes, persistent_[d], 1, "device", d);
  }
}

Nanoseconds Pipeline::work(std::int32_t device) const {
  Nanoseconds sum = 0;
  for (const PipelineChunk& chunk : chunks_)
    if (chunk.device == device) sum += chunk.forward + chunk.backward + chunk.weight;
  return sum;
}

std::string_view name(PipelineKind kind) {
  switch (kind) {
    case PipelineKind::kForward:
      return "F";
    case PipelineKind::kBackward:
      return "B";
    case PipelineKind::kWeight:
      return "W";
    case PipelineKind::kBoth:
      return "BW";
  }
  return "?";
}

std::string describe(const PipelineOperation& operation) {
  return fmt::format("{}{}.{}", name(operation.kind), operation.micro_batch,
                     operation.chunk);
}

Nanoseconds duration(const Pipeline& pipeline, const PipelineOperation& operation) {
  const PipelineChunk& chunk = pipeline.chunk(operation.chunk);
  switch (operation.kind) {
    case PipelineKind::kForward:
      return chunk.forward;
    case PipelineKind::kBackward:
      return chunk.backward;
    case PipelineKind::kWeight:
      return chunk.weight;
    case PipelineKind::kBoth:
      return chunk.backward + chunk.weight;
  }
  return 0;
}

}  // namespace espalier
