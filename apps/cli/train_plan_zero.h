#pragma once

#include "cli/command.h"

namespace espalier::cli {

/// `zero` below `train_plan`: data parallelism and ZeRO's stages, side by side.
[[nodiscard]] Command add_train_plan_zero(CLI::App& train_plan);

}  // namespace espalier::cli
