#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "espalier/model/units.h"

namespace espalier::cli {

/// What --transformer asks for.
struct TransformerRequest {
  std::string name, mesh = "1";
  std::int64_t sequences = 0, layers = 0;  // 0: not given
  double bandwidth = 100e9, latency = 5e-6, rate = 100e12;
};

void add_transformer(CLI::App& app, TransformerRequest& request);

/// Plans it and prints the answer.
/// @param solution  where to write the way of each operator; empty: nowhere
Ending shard_transformer(const TransformerRequest& request, std::optional<Bytes> memory,
                         const std::string& solution, bool json);

}  // namespace espalier::cli
