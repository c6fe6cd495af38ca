#pragma once

#include <signal.h>

namespace espalier::cli {

/// While one exists, the first SIGINT is noted instead of ending the program; the second
/// one ends it. At most one at a time.
class Interrupt {
 public:
  Interrupt();
  Interrupt(const Interrupt&) = delete;
  Interrupt& operator=(const Interrupt&) = delete;
  ~Interrupt();
  [[nodiscard]] bool came() const;

 private:
  struct sigaction before_ {};
};

}  // namespace espalier::cli
