#pragma once

#include <cstddef>
#include <span>

namespace espalier::policy {

/// Calls of the function of that name, which go elsewhere from now on.
struct Redirection {
  const char* function;
  void* replacement;
};

/// A loaded library's own variables.
struct Variables {
  const std::byte* first = nullptr;
  const std::byte* last = nullptr;  ///< behind the last one
  [[nodiscard]] bool has(const void* address) const {
    const auto* const byte = static_cast<const std::byte*>(address);
    return byte >= first && byte < last;
  }
};

/// Changes where the loaded library whose file name contains `library` finds functions of
/// other libraries: an entry each of its table of addresses (ELF, 64 bits). All other
/// libraries, and pointers to a function that exist already, keep the function. Another
/// time it changes nothing more.
/// @return the variables of that library; none where it is not loaded, or calls none of
///         the functions in a way that is known here
Variables redirect_calls(const char* library, std::span<const Redirection> redirections);

}  // namespace espalier::policy
