// Stands in for solve.cpp where the program is built without StarPU.

#include "cli/command.h"

namespace espalier::cli {

Command add_solve(CLI::App* app) { return unavailable(app, "StarPU"); }

}  // namespace espalier::cli
