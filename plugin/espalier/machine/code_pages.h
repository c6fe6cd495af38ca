#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace espalier {

/// Addresses [begin, end) of one mapping.
struct AddressRange {
  std::uintptr_t begin = 0, end = 0;
  friend bool operator==(const AddressRange&, const AddressRange&) = default;
};

/// Mappings of code that are the files' own, page for page: read and run but not written,
/// and without a page that was changed for this process (a debugger's breakpoint, a
/// function that another library has patched).
/// @param smaps  the text of a /proc/PID/smaps
[[nodiscard]] std::vector<AddressRange> unchanged_code(std::string_view smaps);

/// Takes such code of this process out of its resident set; what still runs comes back
/// from the system's cache of files when it is next reached. For between two phases of
/// which the second needs little of what the first ran.
/// @par Cost  half a millisecond, and a microsecond for each 64 KiB that come back
void release_code();

}  // namespace espalier
