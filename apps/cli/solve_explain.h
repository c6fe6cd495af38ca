#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/output.h"
#include "solver/tree/explain_memory.h"

namespace espalier::cli {

/// One figure of a run, taken apart.
struct ExplainedFigure {
  std::string key, label;  ///< "least_bytes", "least bound that suffices"
  solver::MemoryExplanation explanation;
  std::optional<std::int32_t> process = {};  ///< whose it is, of several
};

/// What --explain adds to the report: for people a section for each figure, with its
/// parts in bytes and the chain of fronts; in JSON "explain", an array of the same.
/// docs/why-this-much-memory.md has the keys.
void report_explained(Report& report, const std::vector<ExplainedFigure>& figures);

/// The page of the same (docs/manual/why-this-much-memory.md).
/// @param facts  about the input: what and its value
/// @throws FileError
void write_explained(const std::string& path, const std::string& title,
                     const std::vector<std::pair<std::string, std::string>>& facts,
                     const std::vector<ExplainedFigure>& figures);

/// The same in the form that report_explained() puts into JSON.
[[nodiscard]] nlohmann::ordered_json json_of(const std::vector<ExplainedFigure>& figures);

}  // namespace espalier::cli
