// espalier: a file per subcommand; this one parses, runs and turns what went wrong into
// an exit status and one line on standard error, and a second one with the command that
// works, where one is known.

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/command.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/remedy.h"
#include "cli/restart.h"
#include "cli/results_apart.h"
#include "cli/surroundings.h"
#include "cli/termination.h"
#include "espalier/machine/mapped_limits.h"
#ifdef ESPALIER_WITH_MPI
#include "cli/job/launch.h"
#endif

namespace espalier::cli {
namespace {

void say(std::string_view message) {
  if (!message.empty() && is_first_process()) note(message);
}

// What ends the program. A launcher ends the job with the first process that fails, and
// the one that speaks may not have come so far: the others wait to be ended with it.
void complain(std::string_view message) {
  say(message);
  if (!is_first_process()) std::this_thread::sleep_for(std::chrono::seconds(3));
}

using Words = std::vector<std::string>;

struct NamedCommand {
  std::string_view name;
  Command (*add)(CLI::App* app);
};

constexpr std::array kCommands = {NamedCommand{"solve", add_solve},
                                  NamedCommand{"plan", add_plan},
                                  NamedCommand{"order", add_order},
                                  NamedCommand{"layout", add_layout},
                                  NamedCommand{"checkpoint", add_checkpoint},
                                  NamedCommand{"adjoint", add_adjoint},
                                  NamedCommand{"train", add_train},
                                  NamedCommand{"train-plan", add_train_plan},
                                  NamedCommand{"shard", add_shard},
                                  NamedCommand{"info", add_info}};

// Whose name stands first; empty: none's.
std::string_view named_first(const Words& words) {
  for (const NamedCommand& each : kCommands)
    if (words.size() > 1 && words[1] == each.name) return each.name;
  return {};
}

/// The program's options and what they are for. CLI::App stays where it is.
struct Program {
  CLI::App app{"Task trees run inside a memory bound.", "espalier"};
  std::vector<Command> commands;

  /// @param only  the one subcommand that there is: the options of all the others would
  ///              stay resident, and the code that makes them. Empty: all
  explicit Program(std::string_view only = {}) {
    app.set_version_flag("--version", "espalier " ESPALIER_VERSION);
    app.require_subcommand(0, 1);  // none: below, so that an unknown name is named
    app.footer(
        "Exit status: 0 done, 1 the answer is no, 2 bad usage or input, 3 internal.");
    for (const NamedCommand& each : kCommands)
      if (only.empty() || only == each.name)
        commands.push_back(each.add(app.add_subcommand(std::string(each.name))));
    refuse_empty(app);
  }

  /// @return the subcommand; null: none was named
  const Command* parse(const Words& words) {
    refuse_nothing(words);
    app.parse(Words(words.rbegin(), words.rend() - 1));  // the last one first
    const auto named = std::ranges::find_if(
        commands, [](const auto& each) { return each.app->parsed(); });
    return named == commands.end() ? nullptr : &*named;
  }

 private:
  // "--out=", of which CLI11 would take the next word as the value.
  static void refuse_nothing(const Words& words) {
    const auto end = std::ranges::find(words, "--");
    const auto found = std::find_if(words.begin(), end, [](const std::string& word) {
      return word.starts_with("--") && word.ends_with('=');
    });
    if (found != end)
      throw CLI::ValidationError(found->substr(0, found->size() - 1), "an empty value");
  }

  // No option has a use for a value without a letter. Asked before what reads it, for
  // which such a value may be a 0.
  static void refuse_empty(CLI::App& app) {
    for (CLI::Option* option : app.get_options())
      option->transform(CLI::Validator(
          [](const std::string& text) {
            return text.empty() ? std::string("an empty value") : std::string();
          },
          ""));
    for (CLI::App* inner : app.get_subcommands(nullptr)) refuse_empty(*inner);
  }
};

void check(const Command& command) {
  check_results_apart(*command.app);
  command.check();
}

// What works in the place of what was asked.
struct Suggestion {
  Words words;
  std::string directory;  // to be made before; empty: none
  std::string unset;      // of the environment; empty: nothing
  int processes = 0;      // that a launcher starts; 0: none
};

// The words with one mistake after the other mended; nothing where that does not succeed.
std::optional<Suggestion> mended(const Words& refused, Remedy remedy) {
  constexpr int kMostMistakes = 10;
  Suggestion works{refused, "", "", launched_processes()};
  for (int mistake = 0; mistake <= kMostMistakes; ++mistake) {
    if (remedy.empty()) return std::nullopt;
    Program program;
    works.words = edited(program.app, works.words, remedy);
    works.directory = remedy.make_directory;
    if (!remedy.unset.empty()) works.unset = remedy.unset;
    if (remedy.processes > 0) works.processes = remedy.processes;
    if (!works.directory.empty()) return works;
    try {
      if (const Command* command = program.parse(works.words)) check(*command);
      return works;
    } catch (const CLI::ParseError& error) {
      if (error.get_exit_code() == 0) return works;  // --help
      remedy = remedy_of(error, program.app, works.words);
    } catch (const Refused& next) {
      remedy = next.remedy();
    } catch (const Error&) {
      return std::nullopt;
    }
  }
  return std::nullopt;
}

// A line to be pasted, or none.
std::string line_that_works(const Words& refused, const Remedy& remedy) {
  const std::optional<Suggestion> works = mended(refused, remedy);
  if (!works) return "";
  std::string line = "  ";
  if (!works->directory.empty())
    line += fmt::format("mkdir -p {} && ",
                        quoted(std::vector<std::string>{works->directory}));
  if (!works->unset.empty()) line += fmt::format("env -u {} ", works->unset);
  if (works->processes > 1) line += fmt::format("mpirun -n {} ", works->processes);
  return line + quoted(works->words) + '\n';
}

void suggest(const Words& refused, const Remedy& remedy) {
  if (is_first_process()) std::fputs(line_that_works(refused, remedy).c_str(), stderr);
}

// The launcher ends the job with the first process whose answer is no: not before the one
// that speaks has said what would do.
int end(const Words& words, ExitStatus status, const Remedy& remedy) {
  suggest(words, remedy);
  if (status == kNo && !is_first_process())
    std::this_thread::sleep_for(std::chrono::seconds(1));
  return status;
}

Ending run_together(const Command& command, const Words& words) {
#ifdef ESPALIER_WITH_MPI
  static_cast<void>(refusing({.unset = "ESPALIER_CLUSTER_TIMEOUT"}, cluster_timeout));
#endif
  return command.run_together(
      [&words](const Remedy& remedy) { return line_that_works(words, remedy); });
}

int run(const Command& command, const Words& words) {
  try {
    const bool launched = launched_processes() > 1;
    const bool together = command.run_together && launched;
    // Where a command knows nothing of other processes one of them is enough.
    if (launched && !together && !is_first_process()) return kDone;
    check(command);
    const Ending ending = together ? run_together(command, words) : command.run();
    return end(words, ending.status, ending.remedy);
  } catch (...) {
    const Failure failure = current_failure();
    complain(failure.message);
    return end(words, failure.status, failure.remedy);
  }
}

int refuse(const Program& program, const Words& words, const CLI::ParseError& error) {
  complain(fmt::format("{} (see espalier --help)", error.what()));
  suggest(words, remedy_of(error, program.app, words));
  return kBadInput;
}

int parse_and_run(const Words& words, char** argv, std::string_view only) {
  Program program(only);
  const Command* command = nullptr;
  try {
    command = program.parse(words);
  } catch (const CLI::ParseError& error) {
    // What is wrong is told, and mended, by who knows all subcommands.
    if (!only.empty()) return parse_and_run(words, argv, {});
    if (error.get_exit_code() == 0) {  // --help, --version
      std::ostringstream text;
      program.app.exit(error, text, text);
      if (is_first_process()) print(text.str());
      return kDone;
    }
    return refuse(program, words, error);
  }
  if (command == nullptr) {
    complain("a subcommand is required (see espalier --help)");
    suggest(words, set_flag("--help"));
    return kBadInput;
  }
  if (command->uses_blas) say(restart_with_suitable_blas(argv));
  return run(*command, words);
}

// OpenBLAS waits at the end for its threads, which ask for memory for ever when a limit
// leaves them none: there the program ends without what libraries do at the end.
int ended(int status) {
  if (status != kInternal && mapped_limits().empty()) return status;
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace
}  // namespace espalier::cli

// What cannot even be started ends here too, so that nothing goes uncaught.
int main(int argc, char** argv) {
  using namespace espalier::cli;
  int status = kInternal;
  try {
    end_by_termination_signal();
    const Words words(argv, argv + argc);
    status = with_enough_stack(
        [&words, argv] { return parse_and_run(words, argv, named_first(words)); });
  } catch (...) {
    const Failure failure = current_failure();
    complain(failure.message);
    status = failure.status;
  }
  return ended(status);
}
