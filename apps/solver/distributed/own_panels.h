#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "solver/distributed/front_distribution.h"
#include "solver/memory/page_buffer.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// Bytes [begin, end) of the storage of a shared node, increasing and apart.
using ByteRanges = std::vector<std::pair<Bytes, Bytes>>;

/// Where a process's tiles of the panel stand in the storage that a shared node would
/// have in one process: side after side, block column after block column, strip after
/// strip.
/// @param delayed  columns that its children delayed to it
[[nodiscard]] ByteRanges own_panel_bytes(const Symbolic& symbolic,
                                         const AssemblyTree& tree,
                                         const FrontDistribution& distribution,
                                         std::int32_t node, std::int32_t process,
                                         std::int32_t delayed = 0);
/// The pages that they touch, as many as part_of() says in Node::factor_bytes: what the
/// process keeps of the panel, and what goes to its file, range after range.
[[nodiscard]] ByteRanges own_panel_pages(const Symbolic& symbolic,
                                         const AssemblyTree& tree,
                                         const FrontDistribution& distribution,
                                         std::int32_t node, std::int32_t process,
                                         std::int32_t delayed = 0);

/// Address space for the panel of a shared node, with memory for these pages.
/// @throws Error when the system refuses
[[nodiscard]] PageBuffer storage_of(const Symbolic& symbolic, const AssemblyTree& tree,
                                    std::int32_t node, const ByteRanges& pages,
                                    std::int32_t delayed = 0);

/// Writes down how fronts are cut that are: Factor::strips.
template <class T>
void note_strips(const Symbolic& symbolic, const AssemblyTree& tree,
                 const FrontDistribution& distribution, Factor<T>& factor);

/// NodeStorage of a shared node: the tiles that are at this process, at the places that
/// they would have if all were here.
template <class T>
class OwnPanels {
 public:
  /// @throws Error when the file cannot be read
  OwnPanels(const FactorView<T>& view, const FrontDistribution& distribution,
            std::int32_t node, std::int32_t process);
  [[nodiscard]] const T* data() const { return data_; }

 private:
  PageBuffer copy_;
  const T* data_;
};

}  // namespace espalier::solver
