#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// What a file says of a pipeline.
struct PipelineFile {
  std::vector<PipelineStage> stages;
  Nanoseconds transfer = 0;  ///< from a stage to the next
  Nanoseconds once = 0;      ///< of a step, whatever its micro-batches: updates, data
};

/// Reads what the stages of a pipeline cost, one after the other, from CSV
///
///   forward,backward,weight,until_backward,until_weight,persistent
///   2ms,2ms,1.5ms,0,256MiB,3GiB
///
/// or, where the first character is a brace, from JSON
///
///   {"stages": [{"forward": "2ms", "backward": "2ms", "weight": "1.5ms", …}, …]}
///
/// and beside "stages" perhaps "transfer" and "once", times as well.
/// `forward` and `backward` are needed, the rest is 0 where it is missing; columns in any
/// order. Times as parse_duration() has them, sizes as parse_size(); a number without a
/// unit is seconds or bytes. `backward` is the gradient of the input alone; where the
/// gradients are one operator, its whole time, and `weight` 0.
///
/// @throws FileError with the line (CSV) or the stage (JSON) for a column that is
/// missing,
///         twice or not known, another number of fields, a value that cannot be read;
///         also for a file without a stage
[[nodiscard]] PipelineFile read_pipeline_file(const std::string& path);
[[nodiscard]] PipelineFile read_pipeline_file(std::istream& in, const std::string& name);

/// Writes JSON that is read again as the same.
void write_pipeline_file(std::ostream& out, const PipelineFile& file);

}  // namespace espalier
