#pragma once

#include <functional>
#include <string>

namespace espalier::cli {

/// From now on SIGTERM ends the program at once, whatever handler a library sets for it.
///
/// METIS catches SIGTERM while it orders and jumps out of its handler, be it from inside
/// malloc, and on any thread. So the signal is blocked in all threads, from before the
/// first library starts one, and a thread of its own waits for it. A SIGTERM that was
/// ignored when the program started stays ignored.
///
/// A write beyond `ulimit -f` fails and does not end the program.
///
/// Files that are being written go first, then also where SIGINT or SIGHUP end the
/// program, and StarPU is told to leave signals alone. @throws std::system_error when no
/// thread can be started
void end_by_termination_signal();

/// While one exists, a program that SIGTERM ends says before how far it was:
/// "espalier: " and the text, one line on standard error. At most one at a time.
class TerminationMessage {
 public:
  /// @param text  called by another thread, at any time until the destructor returns
  explicit TerminationMessage(std::function<std::string()> text);
  TerminationMessage(const TerminationMessage&) = delete;
  TerminationMessage& operator=(const TerminationMessage&) = delete;
  /// Does not return when the message is being said: nothing is said after it.
  ~TerminationMessage();
};

}  // namespace espalier::cli
