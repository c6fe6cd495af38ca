#pragma once

#include <random>
#include <span>
#include <string>
#include <string_view>

namespace espalier::fuzz {

/// The file with one to eight changes made to it: bytes changed, pieces taken out,
/// repeated, moved or taken from `other`, words put in, digits replaced. The same draws
/// give the same file on every machine.
[[nodiscard]] std::string mutate(std::string file, std::string_view other,
                                 std::span<const std::string_view> words,
                                 std::mt19937& random);

}  // namespace espalier::fuzz
