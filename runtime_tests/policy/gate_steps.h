#pragma once

#include <initializer_list>
#include <vector>

#include "policy/core/submission_gate.h"

// What happens to a SubmissionGate, step by step, with small numbers for tasks, handles
// and blocks of memory.

namespace espalier::policy {

using Op = SubmissionGate::Op;

inline const void* at(std::uintptr_t address) {
  return reinterpret_cast<const void*>(address);
}
inline const void* task(std::uintptr_t i) { return at(0x10000000 + 256 * i); }
inline const void* handle(std::uintptr_t i) { return at(0x20000000000 + 512 * i); }
inline const void* block(std::uintptr_t i) { return at(0x30000000000 + 4096 * i); }

// Task t works on datum d of that size, which is in memory at that block or nowhere.
inline Op submit(SubmissionGate& gate, std::uintptr_t t, std::uintptr_t d, Bytes size,
                 const void* place = nullptr) {
  const DataAccess access{handle(d), size, place};
  return gate.submit(task(t), {&access, 1});
}

inline Op submit(SubmissionGate& gate, std::uintptr_t t,
                 std::initializer_list<DataAccess> accesses) {
  return gate.submit(task(t), {accesses.begin(), accesses.size()});
}

// StarPU allocates datum d for the task, at block b.
inline void fetch(SubmissionGate& gate, Op op, std::uintptr_t d, std::uintptr_t b,
                  Bytes bytes) {
  gate.allocated(block(b), bytes, true);
  const void* const blocks[] = {block(b)};
  const DataAccess places[] = {{handle(d), 0, block(b)}};
  gate.fetched(op, blocks, places);
}

inline bool free_block(SubmissionGate& gate, std::uintptr_t b) {
  const std::uint32_t token = gate.freeing(block(b));
  gate.left(token);
  return gate.freed(token);
}

inline std::vector<void*> admit(SubmissionGate& gate) {
  std::vector<void*> admitted;
  gate.admit_held(0, admitted);
  return admitted;
}
inline std::vector<void*> tasks(std::initializer_list<std::uintptr_t> list) {
  std::vector<void*> result;
  for (const std::uintptr_t t : list) result.push_back(const_cast<void*>(task(t)));
  return result;
}

}  // namespace espalier::policy
