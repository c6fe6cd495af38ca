#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "cli/command.h"
#include "espalier/model/units.h"
#include "espalier/sharding/mesh.h"

namespace espalier::cli {

/// What --transformer asks for; of an ONNX model, all but the name and the layers.
struct TransformerRequest {
  std::string name, optimiser = "adam";
  Mesh mesh;
  std::int64_t batch = 0, layers = 0;  // 0: not given
  double bandwidth = 100e9, latency = 5e-6, rate = 100e12;
};

void add_transformer(CLI::App& app, TransformerRequest& request);

/// The mesh with the links that the request describes.
[[nodiscard]] Mesh mesh_of(const TransformerRequest& request);

/// Plans it and prints the answer.
/// @param solution  where to write the way of each operator; empty: nowhere
Ending shard_transformer(const TransformerRequest& request, std::optional<Bytes> memory,
                         const std::string& solution, bool json);

}  // namespace espalier::cli
