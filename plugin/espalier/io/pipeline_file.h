#pragma once

#include <iosfwd>
#include <string>
#include <vector>

#include "espalier/model/pipeline.h"

namespace espalier {

/// Reads what the stages of a pipeline cost, one after the other, from CSV
///
///   forward,backward,weight,until_backward,until_weight,persistent
///   2ms,2ms,1.5ms,0,256MiB,3GiB
///
/// or, where the first character is a brace, from JSON
///
///   {"stages": [{"forward": "2ms", "backward": "2ms", "weight": "1.5ms", …}, …]}
///
/// `forward` and `backward` are needed, the rest is 0 where it is missing; columns in any
/// order. Times as parse_duration() has them, sizes as parse_size(); a number without a
/// unit is seconds or bytes. `backward` is the gradient of the input alone; where the
/// gradients are one operator, its whole time, and `weight` 0.
///
/// @throws FileError with the line (CSV) or the stage (JSON) for a column that is
/// missing,
///         twice or not known, another number of fields, a value that cannot be read;
///         also for a file without a stage
[[nodiscard]] std::vector<PipelineStage> read_pipeline_stages(const std::string& path);
[[nodiscard]] std::vector<PipelineStage> read_pipeline_stages(std::istream& in,
                                                              const std::string& name);

}  // namespace espalier
