#pragma once

#include <string>

#include "cli/remedy.h"
#include "espalier/model/error.h"

namespace espalier::cli {

/// What `run` answers. A mistake in it names the file that it is of: an overflow, whose
/// sums are of what the file says, or whatever is bad in what it holds.
/// @tparam Mistake  what is caught; an error that names a file or has a remedy goes on
///                  as it is
/// @param file  empty: there is none, and the mistake goes on
/// @param item  of the file, said before the mistake, as "nodes: "
template <class Mistake = OverflowError, class Run>
auto naming(const std::string& file, const Run& run, const char* item = "") {
  try {
    return run();
  } catch (const FileError&) {
    throw;
  } catch (const Refused&) {
    throw;
  } catch (const Mistake& error) {
    if (file.empty()) throw;
    throw FileError(file, 0, item + std::string(error.what()));
  }
}

}  // namespace espalier::cli
