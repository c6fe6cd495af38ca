#include <CLI/CLI.hpp>
// Stands in for train.cpp where the program is built without StarPU or oneDNN.

#include "cli/command.h"
#include "espalier/model/error.h"

namespace espalier::cli {

Command add_train(CLI::App& program) {
  CLI::App* app =
      program.add_subcommand("train", "Not in this build: it needs StarPU and oneDNN");
  app->allow_extras();
  return {app, []() -> ExitStatus {
            throw InvalidInput(
                "train: this program was built without oneDNN or without StarPU");
          }};
}

}  // namespace espalier::cli
