#pragma once

#include <cstdlib>

#include "cli/command.h"
#include "cli/job/cluster.h"

namespace espalier::cli {

/// In a catch block of any thread: all processes end by the exception that is being
/// handled, and one of them says it with the command that works.
[[noreturn]] inline void end_the_job(Cluster& cluster, const Suggest& suggest) {
  const Failure failure = current_failure();
  cluster.fail(failure.status, last_words(failure, suggest));
  std::abort();  // never: that a virtual function does not return, gcc does not see
}

}  // namespace espalier::cli
