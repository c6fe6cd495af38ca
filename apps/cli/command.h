#pragma once

#include <functional>
#include <string>
#include <utility>

#include "cli/cli_types.h"
#include "cli/job/exit_status.h"
#include "cli/remedy.h"

namespace espalier::cli {

/// How a subcommand ended; where the answer is no, what makes it yes.
struct Ending {
  ExitStatus status;
  Remedy remedy = {};
  // Not explicit: most commands end without a remedy.
  Ending(ExitStatus ended, Remedy what_works = {})
      : status(ended), remedy(std::move(what_works)) {}
};

/// The line of the command that works, with its line end; empty: none is known.
using Suggest = std::function<std::string(const Remedy& remedy)>;

/// A subcommand as main() needs it. After a successful parse that named `app`, `check` is
/// called, then `run`. They may throw: InvalidInput but WriteError, and OverflowError end
/// as kBadInput, the rest as kInternal.
struct Command {
  CLI::App* app = nullptr;
  std::function<Ending()> run;
  bool uses_blas = false;  ///< worth starting again for: see restart.h
  /// What the options tell without their files. Throws Refused; also called to find out
  /// whether a command that is to be suggested would pass.
  std::function<void()> check = [] {};
  /// In the place of `run`, by each of several processes that a launcher started; null:
  /// each does the same by itself. What ends the job there ends with the command that
  /// works.
  std::function<Ending(const Suggest& suggest)> run_together = {};
};

/// How the exception that is being handled ends the program, and what it says. Only in a
/// catch block.
struct Failure {
  ExitStatus status;
  std::string message;
  Remedy remedy = {};
};
[[nodiscard]] Failure current_failure();
/// What the process says that ends the job of all by it.
[[nodiscard]] std::string last_words(const Failure& failure, const Suggest& suggest);

/// A subcommand that is not in this build, which was made without `needs`: it takes
/// everything and throws InvalidInput.
[[nodiscard]] Command unavailable(CLI::App* app, const std::string& needs);

// One per file of the same name: gives the subcommand, whose name main() knows, its words
// and its options, which live as long as the returned `run`.
[[nodiscard]] Command add_solve(CLI::App* app);
[[nodiscard]] Command add_plan(CLI::App* app);
[[nodiscard]] Command add_order(CLI::App* app);
[[nodiscard]] Command add_layout(CLI::App* app);
[[nodiscard]] Command add_shard(CLI::App* app);
[[nodiscard]] Command add_checkpoint(CLI::App* app);
[[nodiscard]] Command add_adjoint(CLI::App* app);
[[nodiscard]] Command add_train_plan(CLI::App* app);
[[nodiscard]] Command add_train(CLI::App* app);
[[nodiscard]] Command add_info(CLI::App* app);

}  // namespace espalier::cli
