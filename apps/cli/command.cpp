#include "cli/command.h"

#include <exception>
#include <new>

#include "espalier/model/error.h"

namespace espalier::cli {

Failure current_failure() {
  try {
    throw;
  } catch (const InvalidInput& error) {
    return {kBadInput, error.what()};
  } catch (const OverflowError& error) {
    return {kBadInput, error.what()};
  } catch (const std::bad_alloc&) {
    return {kInternal, "the system has no memory left to give"};
  } catch (const std::exception& error) {
    return {kInternal, error.what()};
  } catch (...) {
    return {kInternal, "unknown error"};
  }
}

}  // namespace espalier::cli
