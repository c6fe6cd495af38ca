#include "cli/limits_note.h"

#include <fmt/format.h>

#include "cli/output.h"

namespace espalier::cli {

void note_limits(const MemoryRequest& memory, std::optional<Bytes> bound,
                 const MemoryRoom& room) {
  if (!memory.source.empty() || !bound || *bound <= room.bytes) return;
  note(
      fmt::format("note: the bound {} is more than the {} that {} leaves: the system may "
                  "end this process inside its bound; --memory auto is what is left",
                  format_size(*bound), format_size(room.bytes), room.source));
}

}  // namespace espalier::cli
