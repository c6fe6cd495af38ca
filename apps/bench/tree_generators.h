#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/task_tree.h"

// Trees that scheduling is measured on, beside the plain shapes of
// runtime_tests/support/tree_shapes.h. The same arguments give the same tree everywhere.

namespace espalier::bench {

struct GeneratedTree {
  std::string name;
  std::shared_ptr<const TaskTree> tree;
  /// Rows of the dense front of each task; empty: the tasks are no fronts.
  std::vector<std::int32_t> front_order;
};

/// Useful workers of fronts that are cut into tiles of b rows, with b the largest front's
/// order over `tiles`: max(1, (order / b)^2 / 6), so that more tiles mean more
/// parallelism inside the fronts. One each where the tasks are no fronts.
[[nodiscard]] std::vector<double> useful_workers(const GeneratedTree& instance,
                                                 double tiles);

/// How the points of a grid are eliminated.
enum class Elimination {
  kDissection,     ///< by middle planes, down to boxes of eight points
  kMinimumDegree,  ///< AMD
};

/// The assembly tree of the Laplacian on a grid such as "30x30x30".
///
/// Fundamental supernodes; with `amalgamated` > 1 children are merged into their parents
/// as long as the merged front has at most that many pivots. A front of order n with k
/// pivots and a contribution block of order b = n - k is a task with, as in [EMSV15],
///   f = 8 b^2,  m = 8 (n^2 - b^2)  bytes,  w = 2/3 k^3 + k^2 b + k b^2  flops.
///
/// @throws InvalidInput for no grid, and for kMinimumDegree in a build without AMD
[[nodiscard]] GeneratedTree assembly_tree(std::string_view grid, Elimination elimination,
                                          std::int32_t amalgamated);

/// The assembly tree of a matrix file by METIS or the default ordering, without further
/// merging: sizes and work as above. @throws as solver::read_matrix()
[[nodiscard]] GeneratedTree matrix_tree(const std::string& file);

/// A random tree in the manner of the synthetic ones of [ABM17]: one to five children,
/// few being likelier, until there are `tasks` of them; outputs exponential of mean 100,
/// cut to 10 … 10000 bytes; m a tenth of the output, work proportional to it.
[[nodiscard]] GeneratedTree synthetic_tree(std::size_t tasks, std::uint32_t seed);

/// 24 assembly trees: squares, cubes and slabs by dissection and grids by minimum degree,
/// two sizes and three degrees of amalgamation of each.
[[nodiscard]] std::vector<GeneratedTree> assembly_trees();

}  // namespace espalier::bench
