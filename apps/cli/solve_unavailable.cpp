#include <CLI/CLI.hpp>
// Stands in for solve.cpp where the program is built without StarPU.

#include "cli/command.h"
#include "espalier/model/error.h"

namespace espalier::cli {

Command add_solve(CLI::App& program) {
  CLI::App* app = program.add_subcommand("solve", "Not in this build: it needs StarPU");
  app->allow_extras();
  return {app, []() -> ExitStatus {
            throw InvalidInput("solve: this program was built without StarPU");
          }};
}

}  // namespace espalier::cli
