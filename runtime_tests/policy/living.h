#pragma once

#include <starpu_scheduler.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "policy/starpu_run.h"

namespace espalier::policy {

inline constexpr std::size_t kKiB = 1024, kMiB = 1024 * kKiB;

/// Each case runs without a bound and with one, which it should not need to know. The
/// bound is small enough to hold tasks back and suffices for every case.
class Living : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    if (*GetParam() != '\0')
      setenv("ESPALIER_MEMORY", GetParam(), 1);
    else
      unsetenv("ESPALIER_MEMORY");
  }
  void TearDown() override { unsetenv("ESPALIER_MEMORY"); }
};

inline auto bounds() { return testing::Values("", "8MiB"); }

inline std::string bound_name(const testing::TestParamInfo<const char*>& info) {
  return *info.param != '\0' ? "Bounded" : "Unbounded";
}

/// A codelet that adds one to the atomic that its argument points at.
inline starpu_codelet counting_codelet() {
  return cpu_codelet(
      [](void**, void* argument) { ++*static_cast<std::atomic<int>*>(argument); });
}

/// A variable of this size that StarPU allocates when a task first writes it.
inline starpu_data_handle_t temporary(std::size_t size) {
  starpu_data_handle_t handle;
  starpu_variable_data_register(&handle, -1, 0, size);
  return handle;
}

/// The first int of a variable, as a task sees it and as the application does.
inline int& first_int(void* buffer) {
  return *reinterpret_cast<int*>(STARPU_VARIABLE_GET_PTR(buffer));
}
inline int int_in(starpu_data_handle_t handle) {
  EXPECT_EQ(starpu_data_acquire(handle, STARPU_R), 0);
  const int value = *static_cast<int*>(starpu_data_get_local_ptr(handle));
  starpu_data_release(handle);
  return value;
}

/// Codelets on one variable: sets its first int to 1, adds 1 to it, adds it to an atomic.
inline starpu_codelet on_variable(starpu_cpu_func_t function,
                                  starpu_data_access_mode mode) {
  starpu_codelet codelet = cpu_codelet(function);
  codelet.nbuffers = 1;
  codelet.modes[0] = mode;
  return codelet;
}
inline starpu_codelet writing_codelet() {
  return on_variable([](void** buffers, void*) { first_int(buffers[0]) = 1; }, STARPU_W);
}
inline starpu_codelet incrementing_codelet() {
  return on_variable([](void** buffers, void*) { ++first_int(buffers[0]); }, STARPU_RW);
}
inline starpu_codelet reading_codelet() {
  return on_variable(
      [](void** buffers, void* argument) {
        *static_cast<std::atomic<int>*>(argument) += first_int(buffers[0]);
      },
      STARPU_R);
}

/// Codelets of a reduction by the first ints of variables: a copy starts with 0, and is
/// added.
inline starpu_codelet zeroing_codelet() {
  return on_variable([](void** buffers, void*) { first_int(buffers[0]) = 0; }, STARPU_W);
}
inline starpu_codelet adding_codelet() {
  starpu_codelet codelet = cpu_codelet(
      [](void** buffers, void*) { first_int(buffers[0]) += first_int(buffers[1]); });
  codelet.nbuffers = 2;
  codelet.modes[0] = STARPU_RW;
  codelet.modes[1] = STARPU_R;
  return codelet;
}

/// Submits a task on these handles.
inline int submit(starpu_codelet& codelet, void* argument,
                  const std::vector<starpu_data_handle_t>& handles = {},
                  unsigned context = 0) {
  starpu_task* const task = make_task(codelet, argument);
  for (std::size_t i = 0; i < handles.size(); ++i) task->handles[i] = handles[i];
  return starpu_task_submit_to_ctx(task, context);
}

/// Adds 1 to the first int of a variable when its turn has come.
inline int increment_in_callback(starpu_data_handle_t handle) {
  return starpu_data_acquire_cb(
      handle, STARPU_RW,
      [](void* argument) {
        const auto acquired = static_cast<starpu_data_handle_t>(argument);
        ++*static_cast<int*>(starpu_data_get_local_ptr(acquired));
        starpu_data_release(acquired);
      },
      handle);
}

/// Runs tasks on this handle in this order by explicit dependencies alone, the last one
/// submitted first, and unregisters the handle.
inline void run_as_chain(const std::vector<starpu_task*>& tasks,
                         starpu_data_handle_t handle) {
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    tasks[t]->handles[0] = handle;
    tasks[t]->detach = tasks[t]->destroy = 0;
    if (t == 0) continue;
    starpu_task* before[] = {tasks[t - 1]};
    starpu_task_declare_deps_array(tasks[t], 1, before);
  }
  for (std::size_t t = tasks.size(); t-- > 0;) ASSERT_EQ(starpu_task_submit(tasks[t]), 0);
  for (starpu_task* const task : tasks) {
    ASSERT_EQ(starpu_task_wait(task), 0);
    starpu_task_destroy(task);
  }
  starpu_data_unregister(handle);
}

}  // namespace espalier::policy
