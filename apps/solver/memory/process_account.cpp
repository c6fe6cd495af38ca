#include "solver/memory/process_account.h"

#include "solver/memory/process_memory.h"

namespace espalier::solver {

ProcessAccount measure_process(Bytes reserve) {
  trim_heap();
  return {.peak_before = peak_resident_bytes(),
          .baseline = baseline_bytes(),
          .reserve = reserve};
}

}  // namespace espalier::solver
