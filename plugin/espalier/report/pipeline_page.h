#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "espalier/model/replay_pipeline.h"

namespace espalier::report {

/// Rows of text below a heading.
struct PageTable {
  std::string heading;
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};

/// A schedule of a pipeline and what its page says about it.
struct PipelinePage {
  const Pipeline* pipeline = nullptr;
  const PipelineSchedule* schedule = nullptr;
  const PipelineRun* run = nullptr;
  std::string title;            ///< need not be UTF-8
  std::string name;             ///< of the schedule
  Nanoseconds lower_bound = 0;  ///< no schedule is shorter
  std::optional<Bytes> bound;   ///< of each device
  Bytes unit = 1;               ///< not 1: that many bytes stand for a micro-batch
  std::vector<std::pair<std::string, std::string>> facts;  ///< as in PlanPage
  std::vector<PageTable> tables;                           ///< below the pictures
};

/// What the page draws, as one JSON object: devices down, time across, an operation a
/// box; what each device holds over time; and their figures.
/// @throws InvalidInput for more operations than a page can draw
/// @par Cost  some 30 bytes an operation
[[nodiscard]] std::string data_of(const PipelinePage& page);

/// Writes the page. @throws FileError, and InvalidInput as data_of()
void write_page(const std::string& path, const PipelinePage& page);

}  // namespace espalier::report
