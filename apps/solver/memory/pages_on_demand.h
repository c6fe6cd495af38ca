#pragma once

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "solver/memory/page_buffer.h"
#include "solver/memory/page_choice.h"

namespace espalier::solver {

/// Brings the memory of a reserved buffer where threads first need it: in units of a huge
/// page, each by the thread that is there first, side by side with others that bring
/// other units. So what pages cost is shared out, is on the node of who uses them, and is
/// known for each (PageChoice) when the next one is taken.
class PagesOnDemand {
 public:
  /// @param buffer  reserved or as it was renewed; nobody else fills it, and it outlives
  ///                this
  explicit PagesOnDemand(PageBuffer& buffer);

  /// Memory of any content for every page of [begin, end), in bytes of the buffer. Safe
  /// from any thread. @throws Error when the system refuses
  void need(Bytes begin, Bytes end);
  /// The same for a place, as far as the buffer has any of it.
  void need(std::span<const std::byte> place);

 private:
  static constexpr Bytes kUnit = PageChoice::kHugePage;
  struct Unit {
    std::atomic<bool> here = false;
    std::mutex bringing;
  };

  PageBuffer& buffer_;
  std::vector<Unit> units_;
};

}  // namespace espalier::solver
