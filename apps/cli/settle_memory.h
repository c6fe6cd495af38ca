#pragma once

#include "cli/job/cluster.h"
#include "cli/limits_note.h"

namespace espalier::cli {

/// Of a size that the processes of a host are asked to keep to: that of "auto" becomes
/// the share of each; of another one process 0 says where it is more than that.
/// Collective.
inline void settle_memory(Cluster& cluster, MemoryRequest& memory) {
  if (memory.kind != MemoryRequest::Kind::kSize) return;
  if (!memory.source.empty()) {  // as it was when it was read
    memory.size = cluster.smallest_share(memory.size);
    return;
  }
  MemoryRoom room = memory_room();
  room.bytes = cluster.smallest_share(room.bytes);
  if (cluster.rank() == 0) note_limits(memory, memory.size, room);
}

}  // namespace espalier::cli
