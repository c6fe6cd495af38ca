#pragma once

#include <nlohmann/json.hpp>

#include "espalier/io/text_input.h"

namespace espalier {

/// The value that the rest of a text in JSON is. The library takes the last of several
/// members of one name; here none is.
/// @throws FileError with the line for a text that is no JSON, and for a member that an
///         object has twice
[[nodiscard]] nlohmann::json read_json_text(TextInput& text);

}  // namespace espalier
