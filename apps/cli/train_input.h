#pragma once

#include <string>
#include <vector>

#include "cli/train_report.h"
#include "espalier/model/error.h"
#include "espalier/model/operator_graph.h"

namespace espalier::cli {

/// The network that `espalier train` was given, folded, with the batch it was given.
/// @throws InvalidInput unless it is one of a file, a transformer and a perceptron
[[nodiscard]] OperatorGraph read_network(const TrainCommand& command);

/// What it is called, for people.
[[nodiscard]] std::string network_title(const TrainCommand& command);

/// A line each. @throws FileError
void write_losses(const std::string& path, const std::vector<float>& losses);

/// Calls `make`, whose refusal is said to be of the file, if the network is from one.
template <class Make>
auto of_file(const TrainCommand& command, const Make& make) {
  try {
    return make();
  } catch (const FileError&) {
    throw;
  } catch (const InvalidInput& error) {
    if (command.source.file.empty()) throw;
    throw FileError(command.source.file, 0, error.what());
  }
}

}  // namespace espalier::cli
