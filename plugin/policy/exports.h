#pragma once

// What the C interface's functions share: arguments are checked, exceptions become codes.

#include <fmt/format.h>

#include <cerrno>
#include <memory>
#include <new>
#include <string>

#include "espalier.h"
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
  try {
    return function();
  } catch (const InvalidInput& e) {
    return fail(EINVAL, e.what());
  } catch (const OverflowError& e) {
    return fail(EOVERFLOW, e.what());
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM, "out of memory");  // short enough to need no memory
  } catch (const std::exception& e) {
    return fail(EIO, e.what());
  }
}

/// What the pointer points at. @throws InvalidInput when it is null
template <class T>
T& need(T* pointer, const char* name) {
  if (pointer == nullptr) throw InvalidInput(fmt::format("{} is NULL", name));
  return *pointer;
}

}  // namespace espalier::policy
