#pragma once

// What the C interface's functions share: arguments are checked, exceptions become codes.

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <string>

#include "espalier.h"
#include "espalier/model/c_interface.h"
#include "espalier/model/error.h"
#include "espalier/model/plan.h"

struct espalier_tree {
  std::shared_ptr<const espalier::TaskTree> tree;
};

struct espalier_plan {
  std::shared_ptr<const espalier::Plan> plan;
};

namespace espalier::policy {

/// Keeps the text for espalier_last_error(). @return -code
int fail(int code, std::string text) noexcept;

/// Every function of the interface runs in here: what is thrown ends as a code.
template <class Function>
int guarded(Function&& function) noexcept {
  return espalier::guarded(function, fail);
}

}  // namespace espalier::policy
