#pragma once

// The numerical work of the nodes of the assembly tree, without a runtime.

#include <cstdint>
#include <functional>

#include "solver/front/block_assembly.h"
#include "solver/front/front.h"
#include "solver/tree/tile_graph.h"

namespace espalier::solver {

/// A node's factor storage, in the pages of the former factor's where that is the same.
/// @param reserved  address space only
/// @param content   of what is not reserved
/// @throws Error when the system has no memory
template <class T>
void take_panels(const FrontContext<T>& context, std::int32_t node, bool reserved,
                 PageContent content);

/// Allocates a node's factor storage and contribution block, zeroed; for a tiled front
/// address space only, which its blocks fill.
/// @throws Error when the system has no memory
template <class T>
void allocate_node(const FrontContext<T>& context, std::int32_t node);

/// Assembles and factors the fronts of a node one after the other on a private stack:
/// allocates the node's factor storage and contribution block, frees the children's.
/// A bad pivot goes to context.log and ends the node at once.
///
/// @throws Error when the system has no memory
template <class T>
void run_sequential_node(const FrontContext<T>& context, std::int32_t node);

/// What a task of a tiled front computes. A bad pivot goes to the log.
template <class T>
void run_tile(const TileShape& shape, const TileTask& task, Front<T>& front,
              BlockAssembly<T>& assembly);

/// Sends to the file what the tree says of a node that is done, and frees it.
/// @param written  panels that are on their way already: not again
/// @param done     called once, when all is written, on the file's thread; at once, on
///                 this one, when there is nothing to write. After a failure too
/// @throws Error an earlier failure of the file; then `done` is not called
template <class T>
void spill_node(const FrontContext<T>& context, std::int32_t node, bool written,
                const std::function<void()>& done);

/// Bytes that each worker needs in FrontContext::scratch.
/// @param kind  of the factorisation, which may go on as another one than the tree's
[[nodiscard]] Bytes scratch_bytes(const Symbolic& symbolic, const AssemblyTree& tree,
                                  FactorKind kind);

}  // namespace espalier::solver
