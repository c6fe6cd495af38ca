#pragma once

#include <starpu.h>

#include <cstdlib>
#include <new>
#include <span>
#include <type_traits>

#include "solver/runtime/starpu_tasks.h"

namespace espalier::training {

struct Access {
  starpu_data_handle_t handle;
  starpu_data_access_mode mode;
};

/// A codelet whose tasks access any number of handles.
inline starpu_codelet make_open_codelet(void (*function)(void**, void*),
                                        const char* name) {
  return solver::make_codelet(function, name, STARPU_VARIABLE_NBUFFERS);
}

/// A task of such a codelet, not yet submitted.
inline starpu_task* make_task(starpu_codelet& codelet, std::span<const Access> accesses) {
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->nbuffers = static_cast<int>(accesses.size());
  if (accesses.empty()) return task;
  // StarPU frees them.
  task->dyn_handles = static_cast<starpu_data_handle_t*>(
      std::malloc(accesses.size() * sizeof(starpu_data_handle_t)));
  task->dyn_modes = static_cast<starpu_data_access_mode*>(
      std::malloc(accesses.size() * sizeof(starpu_data_access_mode)));
  if (task->dyn_handles == nullptr || task->dyn_modes == nullptr) throw std::bad_alloc();
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    task->dyn_handles[i] = accesses[i].handle;
    task->dyn_modes[i] = accesses[i].mode;
  }
  return task;
}

/// Submits a task that gets a copy of `arguments`.
template <class Arguments>
void submit_task(starpu_codelet& codelet, std::span<const Access> accesses,
                 const Arguments& arguments) {
  static_assert(std::is_trivially_copyable_v<Arguments>);
  starpu_task* const task = make_task(codelet, accesses);
  task->cl_arg = std::malloc(sizeof(Arguments));
  if (task->cl_arg == nullptr) throw std::bad_alloc();
  task->cl_arg_size = sizeof(Arguments);
  task->cl_arg_free = 1;
  *static_cast<Arguments*>(task->cl_arg) = arguments;
  solver::check_submission(starpu_task_submit(task));
}

}  // namespace espalier::training
