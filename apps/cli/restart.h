#pragma once

#include <string>

namespace espalier::cli {

/// Starts this program again, in this process, where its BLAS runs kernels for an older
/// processor (espalier/model/blas_kernel.h): with OPENBLAS_CORETYPE set, which the
/// library reads when it is loaded only. To be called before anything is read or
/// written. Arguments, open files, directory, process id and the rest of the environment
/// stay; where the variable is set nothing happens, so that it happens once.
///
/// @return empty where there is nothing to mend; where it cannot be done, a line for
/// people
[[nodiscard]] std::string restart_with_suitable_blas(char** arguments);

}  // namespace espalier::cli
