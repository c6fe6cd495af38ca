// espalier: a file per subcommand; this one parses, runs and turns what went wrong into
// an exit status and one line on standard error.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <string_view>
#include <vector>

#include "cli/command.h"
#include "cli/restart.h"
#include "cli/termination.h"
#ifdef ESPALIER_WITH_MPI
#include "solver/distributed/launch.h"
#endif

namespace espalier::cli {
namespace {

// What is wrong before the processes of a job know each other is wrong with all of them:
// one says it.
bool speaks() {
#ifdef ESPALIER_WITH_MPI
  return solver::launch().rank == 0;
#else
  return true;
#endif
}

void say(std::string_view message) {
  // Not by fmt::print(), which throws where standard error is closed.
  if (!message.empty() && speaks())
    std::fputs(fmt::format("espalier: {}\n", message).c_str(), stderr);
}

int fail(ExitStatus status, std::string_view message) {
  say(message);
  return status;
}

int run(const Command& command) {
  try {
    return command.run();
  } catch (...) {
    const auto [status, message] = current_failure();
    return fail(status, message);
  }
}

int parse_and_run(int argc, char** argv) {
  CLI::App program("Task trees run inside a memory bound.", "espalier");
  program.set_version_flag("--version", "espalier " ESPALIER_VERSION);
  program.require_subcommand(0, 1);  // none: below, so that an unknown name is named
  program.footer(
      "Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 internal.");
  const std::vector<Command> commands = {add_solve(program),      add_plan(program),
                                         add_order(program),      add_layout(program),
                                         add_checkpoint(program), add_adjoint(program),
                                         add_train(program),      add_info(program)};
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)  // --help, --version
      return speaks() ? program.exit(error) : kDone;
    return fail(kBadInput, fmt::format("{} (see espalier --help)", error.what()));
  }
  for (const Command& command : commands) {
    if (!command.app->parsed()) continue;
    if (command.uses_blas) say(restart_with_suitable_blas(argv));
    return run(command);
  }
  return fail(kBadInput, "a subcommand is required (see espalier --help)");
}

}  // namespace
}  // namespace espalier::cli

// What cannot even be started ends here too, so that nothing goes uncaught.
int main(int argc, char** argv) {
  using namespace espalier::cli;
  int status = kInternal;
  try {
    end_by_termination_signal();
    status = parse_and_run(argc, argv);
  } catch (...) {
    const auto [failed, message] = current_failure();
    status = fail(failed, message);
  }
  if (status != kInternal) return status;
  // OpenBLAS waits at the end for its threads, which ask for memory for ever when a limit
  // leaves them none.
  std::fflush(nullptr);
  _exit(status);
}
