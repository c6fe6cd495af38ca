#include "cli/limits_note.h"

#include <fmt/format.h>

namespace espalier::cli {

void note_limits(const MemoryRequest& memory, std::optional<Bytes> bound,
                 const MemoryRoom& room) {
  if (!memory.source.empty() || !bound || *bound <= room.bytes) return;
  note(
      fmt::format("note: the bound {} is more than the {} that {} leaves: the system may "
                  "end this process inside its bound; --memory auto is what is left",
                  format_size(*bound), format_size(room.bytes), room.source));
}

std::string report_source(Report& report, const MemoryRequest& memory) {
  if (memory.source.empty()) return "";
  report.text("bound_source", "", memory.source);
  return fmt::format("; {} leaves no more", memory.source);
}

Remedy raise_memory(const MemoryRequest& memory, Bytes enough) {
  return memory.source.empty() ? raise_memory(enough) : Remedy{};
}

}  // namespace espalier::cli
