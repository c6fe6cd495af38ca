// How StarPU finds the policy by name.
//
// From 1.4 on, STARPU_SCHED_LIB names a library and StarPU asks it with the two functions
// below. StarPU 1.3 looks names up in one array, which it hands out: on loading, linked
// or by LD_PRELOAD, the library takes over the entry of a policy that exists for StarPU's
// own tests. Programs that never start StarPU notice nothing.

#include <cstring>

#include "espalier.h"
#include "policy/scheduler.h"

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
