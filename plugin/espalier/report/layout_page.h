#pragma once

#include <string>
#include <utility>
#include <vector>

#include "espalier/model/buffer_set.h"
#include "espalier/model/layout.h"
#include "espalier/model/name_table.h"

namespace espalier::report {

/// A layout and what its page says about it.
struct LayoutPage {
  const BufferSet* buffers = nullptr;
  const Layout* layout = nullptr;
  const NameTable* ids = nullptr;  ///< of the buffers; none: 0 … n-1
  std::string title;               ///< need not be UTF-8
  std::vector<std::pair<std::string, std::string>> facts;  ///< as in PlanPage
};

/// What the page draws, as one JSON object: the figures, and buffers as boxes, time
/// across and address up: all of them up to some thousands; beyond, how full each cell of
/// a grid is, and the boxes of largest area. docs/manual/layout.md has the keys.
/// @throws InvalidInput for another number of offsets than buffers
/// @par Cost  O(n log n + cells); some 1 MB at most
[[nodiscard]] std::string data_of(const LayoutPage& page);

/// Writes the page. @throws FileError, and InvalidInput as data_of()
void write_page(const std::string& path, const LayoutPage& page);

}  // namespace espalier::report
