#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <string>

#include "cli/command.h"
#include "espalier/model/error.h"

namespace espalier::cli {

Command unavailable(CLI::App* app, const std::string& needs) {
  app->description("Not in this build: it needs " + needs);
  app->allow_extras();
  return {app, [app, needs]() -> ExitStatus {
            throw InvalidInput(fmt::format("{}: this program was built without {}",
                                           app->get_name(), needs));
          }};
}

}  // namespace espalier::cli
