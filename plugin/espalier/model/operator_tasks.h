#pragma once

#include <vector>

#include "espalier/model/operator_graph.h"
#include "espalier/model/task_graph.h"

namespace espalier {

/// An operator graph as the question of orders and memory. Operators are tasks of the
/// same ids. Data come in the order of the tensors: one for each that has memory of its
/// own (Sharing::kOwn), with its bytes; then the tokens.
///
/// A token is a datum of 0 bytes that says "this operator has run". It keeps apart what
/// shares bytes: an operator that overwrites a version waits for all others that read it,
/// and whoever reads a version that was written over another one waits for its writer.
struct OperatorTasks {
  TaskGraph graph;
  /// By tensor: the datum that it lies in, its storage's.
  std::vector<DatumId> datum_of;
};

/// @param alignment  bytes and workspaces count as the next multiple of it: what they
/// take
///                   in an arena where every offset is one. A layout of the bytes as they
///                   are needs no less, once its end is rounded up, too
/// @throws InvalidInput naming operator and tensor for one that is read and never
///         written; CycleError; OverflowError when the sum of all sizes leaves 64 bits
/// @par Cost  O(operators + tensors + reads), and for each overwriting its readers
[[nodiscard]] OperatorTasks task_graph_of(const OperatorGraph& graph,
                                          Bytes alignment = 1);

}  // namespace espalier
