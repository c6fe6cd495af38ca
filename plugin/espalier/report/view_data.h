#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>

#include "espalier/report/run_picture.h"

namespace espalier::report {

// Pictures as the page's script reads them. Times of bars are whole millionths of the
// window: finer than a screen, and short in JSON.

[[nodiscard]] nlohmann::ordered_json json_of(const MemoryChart& chart);
/// @param ids  names of the tasks; empty: 0 … n-1
[[nodiscard]] nlohmann::ordered_json json_of(const RunView& view,
                                             std::span<const std::int64_t> ids);
[[nodiscard]] nlohmann::ordered_json json_of(const WorkerUse& use);

}  // namespace espalier::report
