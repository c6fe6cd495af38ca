#pragma once

#include <string>

#include "espalier/model/error.h"

namespace espalier::support {

/// What an action throws says; "no error" where it throws nothing.
/// @tparam Expected  anything else goes on and fails the test
template <class Expected = Error>
std::string error_message(const auto& action) {
  try {
    static_cast<void>(action());
  } catch (const Expected& error) {
    return error.what();
  }
  return "no error";
}

}  // namespace espalier::support
