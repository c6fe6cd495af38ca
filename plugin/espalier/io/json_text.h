#pragma once

#include <istream>
#include <nlohmann/json.hpp>
#include <string>

namespace espalier {

/// The value that a text in JSON is. The library takes the last of several members of one
/// name; here none is.
/// @param name  stands for the stream in messages
/// @throws FileError with the line for a text that is no JSON, and for a member that an
///         object has twice
[[nodiscard]] nlohmann::json read_json_text(std::istream& in, const std::string& name);

}  // namespace espalier
