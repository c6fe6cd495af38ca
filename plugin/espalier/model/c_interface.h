#pragma once

// What the functions of a C interface share: arguments are checked, exceptions become
// codes.

#include <cerrno>
#include <exception>
#include <new>
#include <string>

#include "espalier/model/error.h"

namespace espalier {

/// Runs a function of the interface: what is thrown ends as a code.
/// @param fail  int(int code, text): keeps the text for the caller, returns -code
template <class Function, class Fail>
int guarded(Function&& function, Fail&& fail) noexcept {
  try {
    return function();
  } catch (const FileError& e) {  // before InvalidInput, which it is
    return fail(EIO, e.what());
  } catch (const Cancelled& e) {
    return fail(ECANCELED, e.what());
  } catch (const InvalidInput& e) {
    return fail(EINVAL, e.what());
  } catch (const DoesNotFit& e) {
    return fail(ENOMEM, e.what());
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
  if (pointer == nullptr) throw InvalidInput(std::string(name) + " is NULL");
  return *pointer;
}

}  // namespace espalier
