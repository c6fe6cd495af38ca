#pragma once

#include <espalier.h>
#include <gtest/gtest.h>
#include <starpu.h>

#include <semaphore>

namespace espalier::policy {

/// StarPU from construction to destruction, with CPU workers alone.
class StarPuRun {
 public:
  explicit StarPuRun(int workers, starpu_sched_policy* policy = espalier_sched_policy(),
                     const char* policy_name = nullptr) {
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = workers;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy = policy;
    conf.sched_policy_name = policy_name;
    status_ = starpu_init(&conf);
  }
  ~StarPuRun() {
    if (status_ == 0) starpu_shutdown();
  }
  StarPuRun(const StarPuRun&) = delete;
  StarPuRun& operator=(const StarPuRun&) = delete;

  [[nodiscard]] bool ok() const { return status_ == 0; }

 private:
  int status_;
};

/// A codelet with one CPU function and no data.
inline starpu_codelet cpu_codelet(starpu_cpu_func_t function) {
  starpu_codelet codelet{};
  codelet.where = STARPU_CPU;
  codelet.cpu_funcs[0] = function;
  return codelet;
}

/// A task that StarPU destroys; cl_arg stays the caller's.
inline starpu_task* make_task(starpu_codelet& codelet, void* argument, int priority = 0) {
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->cl_arg = argument;
  task->priority = priority;
  return task;
}

/// Keeps the only worker of a run in a task, so that what is submitted meanwhile is all
/// queued before any of it runs. A worker that starpu_pause() finds on its way to the
/// next task still runs that one.
class HeldWorker {
 public:
  HeldWorker() {
    status_ = starpu_task_submit(make_task(codelet_, this));
    if (status_ == 0) begun_.acquire();
  }
  void let_go() { go_on_.release(); }

  [[nodiscard]] bool ok() const { return status_ == 0; }

 private:
  std::binary_semaphore begun_{0}, go_on_{0};
  starpu_codelet codelet_ = cpu_codelet([](void**, void* held) {
    static_cast<HeldWorker*>(held)->begun_.release();
    static_cast<HeldWorker*>(held)->go_on_.acquire();
  });
  int status_;
};

}  // namespace espalier::policy
