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

/// Names, on standard error, initializers that another framework might train.
/// @throws as training_graph()
void warn_of_what_is_left_alone(const OperatorGraph& model);

/// What it is called, for people.
[[nodiscard]] std::string network_title(const TrainCommand& command);

/// A line each. @throws FileError
void write_losses(const std::string& path, const std::vector<float>& losses);

}  // namespace espalier::cli
