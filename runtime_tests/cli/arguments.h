#pragma once

#include <string>
#include <vector>

namespace espalier::cli_test {

using Arguments = std::vector<std::string>;

[[nodiscard]] inline Arguments with(Arguments arguments, const Arguments& more) {
  arguments.insert(arguments.end(), more.begin(), more.end());
  return arguments;
}

}  // namespace espalier::cli_test
