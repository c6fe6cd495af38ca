// espalier: a file per subcommand; this one parses, runs and turns what went wrong into
// an exit status and one line on standard error, and a second one with the command that
// works, where one is known.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/remedy.h"
#include "cli/restart.h"
#include "cli/termination.h"
#include "espalier/model/printable.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/launch.h"
#endif

namespace espalier::cli {
namespace {

// What is wrong before the processes of a job know each other is wrong with all of them:
// one says it.
bool speaks() {
#ifdef ESPALIER_WITH_MPI
  return launch().rank == 0;
#else
  return true;
#endif
}

void say(std::string_view message) {
  // Not by fmt::print(), which throws where standard error is closed.
  if (!message.empty() && speaks())
    std::fputs(fmt::format("espalier: {}\n", printable(message, true)).c_str(), stderr);
}

// What ends the program. A launcher ends the job with the first process that fails, and
// the one that speaks may not have come so far: the others wait to be ended with it.
void complain(std::string_view message) {
  say(message);
  if (!speaks()) std::this_thread::sleep_for(std::chrono::seconds(3));
}

using Words = std::vector<std::string>;

/// The program's options and what they are for. CLI::App stays where it is.
struct Program {
  CLI::App app{"Task trees run inside a memory bound.", "espalier"};
  std::vector<Command> commands;

  Program() {
    app.set_version_flag("--version", "espalier " ESPALIER_VERSION);
    app.require_subcommand(0, 1);  // none: below, so that an unknown name is named
    app.footer(
        "Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 internal.");
    commands = {add_solve(app),  add_plan(app),       add_order(app),
                add_layout(app), add_checkpoint(app), add_adjoint(app),
                add_train(app),  add_train_plan(app), add_shard(app),
                add_info(app)};
  }

  void parse(const Words& words) {
    app.parse(Words(words.rbegin(), words.rend() - 1));  // the last one first
  }
};

// A line to be pasted: what works in the place of what was asked.
void suggest(const Words& words, const Remedy& remedy = {}) {
  if (!speaks()) return;
  std::string line;
  if (!remedy.make_directory.empty())
    line = fmt::format("mkdir -p {} && ",
                       quoted(std::vector<std::string>{remedy.make_directory}));
#ifdef ESPALIER_WITH_MPI
  if (const int processes = launch().processes; processes > 1)
    line += fmt::format("mpirun -n {} ", processes);
#endif
  std::fputs(fmt::format("  {}{}\n", line, quoted(words)).c_str(), stderr);
}

// The launcher ends the job with the first process whose answer is no: not before the one
// that speaks has said what would do.
int end(const Words& words, ExitStatus status, const Remedy& remedy) {
  if (!remedy.empty()) suggest(edited(Program().app, words, remedy), remedy);
  if (status == kNo && !speaks()) std::this_thread::sleep_for(std::chrono::seconds(1));
  return status;
}

int run(const Command& command, const Words& words) {
  try {
    const Ending ending = command.run();
    return end(words, ending.status, ending.remedy);
  } catch (...) {
    const Failure failure = current_failure();
    complain(failure.message);
    return end(words, failure.status, failure.remedy);
  }
}

// The words with one mistake after the other mended; nothing where that does not succeed.
std::optional<Words> readable(Words words) {
  constexpr int kMostMistakes = 10;
  for (int mistake = 0; mistake <= kMostMistakes; ++mistake) {
    Program program;
    try {
      program.parse(words);
      return words;
    } catch (const CLI::ParseError& error) {
      const Remedy remedy = remedy_of(error, program.app, words);
      if (remedy.empty()) return std::nullopt;
      words = edited(program.app, words, remedy);
    }
  }
  return std::nullopt;
}

int refuse(const Words& words, std::string_view message) {
  complain(fmt::format("{} (see espalier --help)", message));
  if (const std::optional<Words> mended = readable(words)) suggest(*mended);
  return kBadInput;
}

int parse_and_run(int argc, char** argv) {
  const Words words(argv, argv + argc);
  Program program;
  try {
    program.app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0)  // --help, --version
      return speaks() ? program.app.exit(error) : kDone;
    return refuse(words, error.what());
  }
  for (const Command& command : program.commands) {
    if (!command.app->parsed()) continue;
    if (command.uses_blas) say(restart_with_suitable_blas(argv));
    return run(command, words);
  }
  complain("a subcommand is required (see espalier --help)");
  suggest({words.front(), "--help"});
  return kBadInput;
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
    const Failure failure = current_failure();
    complain(failure.message);
    status = failure.status;
  }
  if (status != kInternal) return status;
  // OpenBLAS waits at the end for its threads, which ask for memory for ever when a limit
  // leaves them none.
  std::fflush(nullptr);
  _exit(status);
}
