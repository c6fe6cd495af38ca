#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/error.h"
#include "espalier/model/pipeline.h"
#include "espalier/model/replay_pipeline.h"
#include "espalier/sharding/named_pipelines.h"
#include "espalier/sharding/search_pipeline.h"

namespace espalier {

/// How micro-batches go through the devices: by a schedule that has a name, or by one
/// that is searched for.
struct PipelineForm {
  std::optional<PipelineScheme> scheme;  ///< none: searched for
  /// v, chunks of a device: 1, 2 for zb-v, any for interleaved; searched for with 2: the
  /// chunks lie as those of zb-v.
  std::int32_t per_device = 1;
  bool operator==(const PipelineForm&) const = default;
};

/// "gpipe", "1f1b", "interleaved:3", "zb-h1", "zb-h2", "zb-v", "search", "search:2"
[[nodiscard]] std::string describe(const PipelineForm& form);
/// "interleaved" alone has two chunks a device. Nothing for another name.
[[nodiscard]] std::optional<PipelineForm> parse_pipeline_form(std::string_view text);

/// The scheme as which the chunks of a form lie (chunk_devices()).
[[nodiscard]] PipelineScheme lies_as(const PipelineForm& form);

/// The least number of micro-batches that the form can run, not below the one given:
/// interleaved takes multiples of the devices.
[[nodiscard]] std::int32_t allowed_micro_batches(const PipelineForm& form,
                                                 std::int32_t devices,
                                                 std::int32_t micro_batches);

/// The stages as a pipeline whose chunks lie as the form says. Times and sizes of a stage
/// are divided evenly over its chunks, to the last nanosecond and byte.
/// @throws InvalidInput for no stage, a negative value, no micro-batch
[[nodiscard]] Pipeline pipeline_of(std::span<const PipelineStage> stages,
                                   const PipelineForm& form, std::int32_t micro_batches,
                                   Nanoseconds transfer);

/// A schedule, its run, and what no schedule of the same pipeline can beat.
struct PipelinePlan {
  PipelineForm form;
  std::string origin;  ///< the scheme, or where a search found it
  Pipeline pipeline;
  PipelineSchedule schedule;
  PipelineRun run;
  Nanoseconds value = 0;        ///< of the objective
  Nanoseconds lower_bound = 0;  ///< of it, inside the bound where that is kept

  [[nodiscard]] Bytes peak_bytes() const;  ///< of the device that holds most
  /// Part of the devices' time that is waited, 0 … 1; 0 for a run that takes no time.
  [[nodiscard]] double idle_fraction() const;
};

/// The schedule of a form, validated. A named one is what it is, whatever
/// `memory_bound` says: compare its peak; a search stays inside.
///
/// @return Infeasible for a search whose bound does not hold one micro-batch
/// @throws InvalidInput as pipeline_of() and named_pipeline()
[[nodiscard]] Expected<PipelinePlan> plan_pipeline(std::span<const PipelineStage> stages,
                                                   const PipelineForm& form,
                                                   std::int32_t micro_batches,
                                                   Nanoseconds transfer,
                                                   const PipelineSearchOptions& options);

/// The same for chunks that lie as the form says.
[[nodiscard]] Expected<PipelinePlan> plan_pipeline(Pipeline pipeline,
                                                   const PipelineForm& form,
                                                   const PipelineSearchOptions& options);

/// Every form that p devices and m micro-batches allow: the named ones, `interleaved`
/// with two chunks, and the searches.
[[nodiscard]] std::vector<PipelineForm> pipeline_forms(std::int32_t devices,
                                                       std::int32_t micro_batches);

}  // namespace espalier
