#pragma once

#include <cstdint>

namespace espalier::support {

/// The test was compiled with a sanitizer, under which everything takes ten times as long
/// and more.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kSanitized = true;
#else
inline constexpr bool kSanitized = false;
#endif

/// So many rounds; under a sanitizer a tenth of them.
constexpr std::int64_t rounds(std::int64_t all) { return kSanitized ? all / 10 : all; }

}  // namespace espalier::support
