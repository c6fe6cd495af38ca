#pragma once

#include <string>
#include <vector>

#include "cli/train_report.h"
#include "espalier/model/operator_graph.h"

namespace espalier::cli {

/// @throws Refused unless it is one of a file, a transformer and a perceptron
void check_network(const TrainCommand& command);

/// The network that `espalier train` was given, folded, with the batch and with what is
/// trained as it was given.
/// @pre check_network() passes
/// @throws InvalidInput, FileError
[[nodiscard]] OperatorGraph read_network(const TrainCommand& command);

/// Initializers that another framework might train, by name. @throws as training_graph()
[[nodiscard]] std::vector<std::string> not_trained(const OperatorGraph& model);
/// Says so on standard error, if there are any.
void warn_of_not_trained(const std::vector<std::string>& names);

/// What it is called, for people.
[[nodiscard]] std::string network_title(const TrainCommand& command);

/// A line each. @throws FileError
void write_losses(const std::string& path, const std::vector<float>& losses);

}  // namespace espalier::cli
