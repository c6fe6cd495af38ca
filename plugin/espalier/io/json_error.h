#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace espalier {

/// What is wrong with a text that is no JSON, without the library's own words before:
/// "[json.exception…] parse error at line 3, column 7: syntax error while parsing …".
/// At most 300 characters.
[[nodiscard]] inline std::string what_is_wrong(const nlohmann::json::exception& error) {
  constexpr std::size_t kMost = 300;
  std::string_view what = error.what();
  for (const std::string_view start :
       {std::string_view("syntax error"), std::string_view("number overflow")}) {
    if (const auto found = what.find(start); found != std::string_view::npos)
      what = what.substr(found);
  }
  return std::string(what.substr(0, kMost));
}

}  // namespace espalier
