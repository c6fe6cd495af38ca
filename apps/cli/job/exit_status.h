#pragma once

namespace espalier::cli {

/// How the program ends (docs: README, "Exit status").
enum ExitStatus : int {
  kDone = 0,
  kNo = 1,        ///< the answer is no: an infeasible bound, a check that failed
  kBadInput = 2,  ///< bad usage, a bad file, a bad value
  kInternal = 3   ///< anything else
};

}  // namespace espalier::cli
