// How StarPU finds the policy by name.
//
// From 1.4 on, STARPU_SCHED_LIB names a library and StarPU asks it with the two functions
// below. StarPU 1.3 looks names up in one array, which it hands out: on loading, linked
// or by LD_PRELOAD, the library takes over the entry of a policy that exists for StarPU's
// own tests. Programs that never start StarPU notice nothing.

#include <cstdlib>
#include <cstring>
#include <exception>
#include <string>

#include "espalier.h"
#include "policy/c_api/scheduler.h"
#include "policy/core/settings.h"

extern "C" {

ESPALIER_API starpu_sched_policy* starpu_get_sched_lib_policy(const char* name) {
  starpu_sched_policy* const policy = espalier::policy::starpu_policy();
  return std::strcmp(name, policy->policy_name) == 0 ? policy : nullptr;
}

ESPALIER_API starpu_sched_policy** starpu_get_sched_lib_policies(void) {
  static starpu_sched_policy* policies[] = {espalier::policy::starpu_policy(), nullptr};
  return policies;
}

}  // extern "C"

namespace {

// Spilling needs StarPU's own limit, which it reads before it looks for policies: here is
// early enough when the library is linked or preloaded. Session::join() sees when it was
// not, and complains of bad settings.
[[gnu::constructor]] void limit_starpu() {
  try {
    const auto settings =
        espalier::policy::read_settings(espalier::policy::process_environment);
    if (!settings.memory || settings.on_overflow != espalier::policy::Overflow::kDisk)
      return;
    setenv("STARPU_LIMIT_CPU_MEM", std::to_string(*settings.memory >> 20).c_str(), 0);
    // With a disk StarPU has two nodes to move data between, and 1.3 would fetch the data
    // of held tasks.
    setenv("STARPU_PREFETCH", "0", 0);
    // What it would write to the disk ahead of need, when idle, may be left when the
    // program ends, and starpu_shutdown() aborts then (docs/decisions/0240).
    setenv("STARPU_MINIMUM_CLEAN_BUFFERS", "0", 0);
    setenv("STARPU_TARGET_CLEAN_BUFFERS", "0", 0);
  } catch (const std::exception&) {
  }
}

}  // namespace

#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
namespace {

starpu_sched_policy** find_policy(const char* name) {
  starpu_sched_policy** entry = starpu_sched_get_predefined_policies();
  while (*entry != nullptr && ((*entry)->policy_name == nullptr ||
                               std::strcmp((*entry)->policy_name, name) != 0))
    ++entry;
  return *entry != nullptr ? entry : nullptr;
}

[[gnu::constructor]] void register_policy() {
  starpu_sched_policy* const policy = espalier::policy::starpu_policy();
  // Another copy of this library came first: leave it alone.
  if (find_policy(policy->policy_name) != nullptr) return;
  if (starpu_sched_policy** const entry = find_policy("graph_test")) *entry = policy;
}

}  // namespace
#endif
