#pragma once

#include <charconv>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "espalier/model/error.h"

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

/// For a text that was read as a whole. @throws FileError always, with the line where
/// there is one
[[noreturn]] inline void refuse_json(const std::string& name,
                                     const nlohmann::json::exception& error) {
  constexpr std::string_view kAt = " at line ";
  const std::string_view what = error.what();
  std::int64_t line = 0;
  if (const auto found = what.find(kAt); found != std::string_view::npos)
    std::from_chars(what.data() + found + kAt.size(), what.data() + what.size(), line);
  throw FileError(name, line, what_is_wrong(error));
}

}  // namespace espalier
