#pragma once

#include "cli/train_parallel.h"
#include "espalier/model/operator_graph.h"

namespace espalier::cli {

/// Collective: the processes of a job must have the same model and the same samples in
/// the files that their command names, or they would train a mixture, or wait for tensors
/// that no other one has. Compares all bytes of the model's files, and of the samples,
/// which may be many, the size and what stands in pieces all over them.
/// @param model  as this process has read it, for the files of its weights
/// @throws InvalidInput naming the file and the ranks; FileError; Refused for samples
void check_same_files(const TrainCommand& command, const OperatorGraph& model,
                      const TrainingPeers& peers);

}  // namespace espalier::cli
