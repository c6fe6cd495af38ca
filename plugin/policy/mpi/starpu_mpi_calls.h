#pragma once

#include <dlfcn.h>

#include <atomic>
#include <cstdint>

namespace espalier::policy {

// What the functions have in common that stand in for StarPU-MPI's, which is not linked.

/// MPI_Comm is a pointer or an int; as an argument both take a register, or 8 bytes of
/// the stack, and are only passed on.
using Comm = void*;
using Tag = std::int64_t;

/// A function of the StarPU-MPI that was loaded after this library, by a library that a
/// program has opened: then it stands in no scope of this one's. Null: there is none.
[[nodiscard]] void* in_opened_starpu_mpi(const char* name);

/// The function of that name behind this library's.
template <class Function>
Function* next(const char* name) {
  void* const behind = dlsym(RTLD_NEXT, name);
  return reinterpret_cast<Function*>(behind != nullptr ? behind
                                                       : in_opened_starpu_mpi(name));
}

/// Messages of this process under a bound.
struct MessageCounts {
  std::atomic<std::int64_t> posted = 0;     ///< whose data are not ready yet
  std::atomic<std::int64_t> under_way = 0;  ///< that have not ended
  std::atomic<std::int64_t> sending = 0;    ///< of those, the ones that are sent
};
inline MessageCounts message_counts;

/// Whether this thread's messages are this library's own, which nobody counts.
inline thread_local bool own_messages = false;

/// Of this process, as StarPU-MPI says.
[[nodiscard]] int rank_in(Comm comm);

/// Whether a run with a bound is on.
[[nodiscard]] bool bounded();

}  // namespace espalier::policy

#define ESPALIER_NEXT(function) \
  static const auto next_one = espalier::policy::next<decltype(function)>(#function)
