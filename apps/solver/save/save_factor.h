#pragma once

#include <cstdint>
#include <span>

#include "solver/front/factor.h"
#include "solver/save/section_file.h"
#include "solver/solve/triangular_solve.h"

namespace espalier::solver {

/// Writes a factor, front by front: the file does not depend on how fronts are grouped
/// into nodes. Panels that are out of core are read back one node at a time.
///
/// @param without  of each node whether its panels are left out; empty: none are
/// @throws FileError, Error as SectionWriter and SpillFile
template <class T>
void save_factor(const FactorView<T>& view, SectionWriter& file,
                 std::span<const std::int8_t> without = {});

/// The factor of a saved system, all in memory.
///
/// @param tree  with the block widths that it had when the factor was made
/// @param without  of save_factor()
/// @throws FileError when sizes or indices in the file are not those of such a factor
template <class T>
[[nodiscard]] Factor<T> load_factor(const Symbolic& symbolic, const AssemblyTree& tree,
                                    SectionReader& file,
                                    std::span<const std::int8_t> without = {});

}  // namespace espalier::solver
