#pragma once

// Quantities, one alias each. Bytes are exact: peaks are compared for equality.

#include <cstdint>
#include <string>
#include <string_view>

namespace espalier {

using Bytes = std::int64_t;  ///< a size in memory; never negative in a model
using Flops = double;        ///< floating-point operations
using Seconds = double;

/// a + b, a - b and a * b; OverflowError names both operands.
[[nodiscard]] Bytes checked_add(Bytes a, Bytes b);
[[nodiscard]] Bytes checked_sub(Bytes a, Bytes b);
[[nodiscard]] Bytes checked_mul(Bytes a, Bytes b);

/// A size as a user writes it: a non-negative decimal number and an optional unit, B, KB,
/// MB, GB, TB (powers of 1000) or KiB, MiB, GiB, TiB (powers of 1024), the letters in any
/// case: "512MiB", "2 GB", "1.5GiB", "4096". A fraction of a byte is rounded up.
///
/// @throws InvalidInput for anything else, OverflowError beyond 2^63 - 1
[[nodiscard]] Bytes parse_size(std::string_view text);

/// The size for people: "0 B", "512.0 MiB", "8.2 GiB".
[[nodiscard]] std::string format_size(Bytes bytes);

}  // namespace espalier
