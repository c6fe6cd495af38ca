#pragma once

#include <string>

#include "cli/plan_compare.h"

namespace espalier::cli {

/// The comparison as an SVG document: a panel for each number of workers, one row of them
/// for sequential and one for moldable tasks; makespan / lower bound over bound / least
/// that suffices, both axes logarithmic. Runs beyond the bound are left out.
[[nodiscard]] std::string draw(const Comparison& comparison);

/// @throws FileError when it cannot be written
void write_picture(const std::string& path, const Comparison& comparison);

}  // namespace espalier::cli
