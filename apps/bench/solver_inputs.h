#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace espalier::bench {

/// The inputs, each folder replaced by the matrix files below it, by name: *.mtx, and
/// Rutherford-Boeing files, with or without .gz.
[[nodiscard]] std::vector<std::string> expand_folders(
    const std::vector<std::string>& inputs);

/// What the program matrix_facts prints: size, entries, symmetric, may_be_definite.
///
/// @throws std::runtime_error when it cannot read the input
[[nodiscard]] nlohmann::json facts_of(const std::string& input, int timeout_seconds);

/// Of spd, symmetric and general, most special first, those `asked` for as which a matrix
/// with these facts can be factored; where `asked` begins with auto, the first possible.
[[nodiscard]] std::vector<std::string> kinds_of(const nlohmann::json& facts,
                                                const std::vector<std::string>& asked);

/// "grid 40x40x40", or the file's name without its endings.
[[nodiscard]] std::string short_name(const std::string& input);

/// Writes the text and an end of line; does nothing where no file is named.
///
/// @throws std::runtime_error when it cannot
void write_file(const std::string& file, const std::string& text);

}  // namespace espalier::bench
