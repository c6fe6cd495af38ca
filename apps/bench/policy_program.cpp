// What policy_bench measures: a StarPU program of empty tasks that knows of no policy of
// ours. Run by policy_bench, which chooses the policy by the environment.
//
//   policy_program time TASKS SHAPE…    microseconds a task
//   policy_program cpu TASKS SHAPE…     processor microseconds a task, none of which may
//                                       start before all have been submitted
//   policy_program memory TASKS SHAPE…  bytes a task while none of them may start
//
// It prints one JSON object: the policy that ran, and a figure for each shape.

#include <fmt/format.h>
#include <starpu.h>
#include <starpu_scheduler.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/processor_time.h"
#include "solver/memory/process_memory.h"

namespace {

constexpr std::size_t kItemBytes = 64;

void nothing(void* /*buffers*/[], void* /*argument*/) {}

starpu_codelet make_codelet(std::initializer_list<starpu_data_access_mode> modes) {
  starpu_codelet codelet;
  starpu_codelet_init(&codelet);
  codelet.cpu_funcs[0] = nothing;
  codelet.nbuffers = static_cast<int>(modes.size());
  std::copy(modes.begin(), modes.end(), codelet.modes);
  return codelet;
}

starpu_codelet free_task = make_codelet({});
starpu_codelet create = make_codelet({STARPU_W});
starpu_codelet join = make_codelet({STARPU_W, STARPU_R, STARPU_R});
starpu_codelet update1 = make_codelet({STARPU_RW});
starpu_codelet update2 = make_codelet({STARPU_RW, STARPU_R});
starpu_codelet update3 = make_codelet({STARPU_RW, STARPU_R, STARPU_R});

void submit(starpu_codelet& codelet,
            std::initializer_list<starpu_data_handle_t> handles = {}, int priority = 0) {
  starpu_task* const task = starpu_task_create();
  task->cl = &codelet;
  task->priority = priority;
  std::copy(handles.begin(), handles.end(), task->handles);
  if (starpu_task_submit(task) != 0) throw std::runtime_error("submission failed");
}

/// One way to submit tasks. Data are registered by the constructor, so that what is timed
/// is the tasks.
class Shape {
 public:
  virtual ~Shape() = default;
  /// Submits all tasks. Once. @return their number
  virtual std::size_t submit_all() = 0;
};

class Independent : public Shape {
 public:
  explicit Independent(std::size_t tasks) : tasks_(tasks) {}
  std::size_t submit_all() override {
    for (std::size_t i = 0; i < tasks_; ++i) submit(free_task);
    return tasks_;
  }

 private:
  std::size_t tasks_;
};

/// Each task depends on the one before.
class Chain : public Shape {
 public:
  explicit Chain(std::size_t tasks) : tasks_(tasks) {
    starpu_variable_data_register(&handle_, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(item_), kItemBytes);
  }
  ~Chain() override { starpu_data_unregister(handle_); }
  std::size_t submit_all() override {
    for (std::size_t i = 0; i < tasks_; ++i) submit(update1, {handle_});
    return tasks_;
  }

 private:
  std::size_t tasks_;
  char item_[kItemBytes] = {};
  starpu_data_handle_t handle_ = nullptr;
};

/// A binary tree in postorder: a task writes data of its own, allocated by StarPU, from
/// those of its two children, which are given up then.
class Tree : public Shape {
 public:
  explicit Tree(std::size_t tasks) : handles_(tasks | 1) {
    for (starpu_data_handle_t& handle : handles_)
      starpu_variable_data_register(&handle, -1, 0, kItemBytes);
  }
  ~Tree() override { starpu_data_unregister(handles_.back()); }

  std::size_t submit_all() override {
    for (std::size_t leaf = 0; leaf < (handles_.size() + 1) / 2; ++leaf) {
      submit(create, {handles_[next_]});
      open_.push_back({0, handles_[next_++]});
      while (open_.size() >= 2 && open_.back().height == open_.end()[-2].height)
        join_last_two();
    }
    while (open_.size() >= 2) join_last_two();
    return handles_.size();
  }

 private:
  struct Subtree {
    int height;
    starpu_data_handle_t root;
  };
  void join_last_two() {
    const Subtree right = open_.back();
    open_.pop_back();
    Subtree& left = open_.back();
    submit(join, {handles_[next_], left.root, right.root});
    starpu_data_unregister_submit(left.root);
    starpu_data_unregister_submit(right.root);
    left = {left.height + 1, handles_[next_++]};
  }

  std::vector<starpu_data_handle_t> handles_;  // the last is the root's
  std::size_t next_ = 0;
  std::vector<Subtree> open_;
};

/// Cholesky of a matrix of tiles in the application's memory: right-looking, each task
/// with a priority that falls with its tile's distance from the first.
class Tiles : public Shape {
 public:
  explicit Tiles(std::size_t tasks) {
    while ((size_ + 1) * (size_ + 2) * (size_ + 3) / 6 <= static_cast<int>(tasks))
      ++size_;
    for (int i = 0; i < size_ * size_; ++i) {
      handles_.emplace_back();
      starpu_variable_data_register(&handles_.back(), STARPU_MAIN_RAM,
                                    reinterpret_cast<std::uintptr_t>(item_), kItemBytes);
    }
  }
  ~Tiles() override {
    for (starpu_data_handle_t handle : handles_) starpu_data_unregister(handle);
  }

  std::size_t submit_all() override {
    for (int k = 0; k < size_; ++k) {
      submit(update1, {tile(k, k)}, 2 * (size_ - k));
      for (int i = k + 1; i < size_; ++i)
        submit(update2, {tile(i, k), tile(k, k)}, 2 * (size_ - k) - i);
      for (int j = k + 1; j < size_; ++j) {
        submit(update2, {tile(j, j), tile(j, k)}, 2 * (size_ - k - j));
        for (int i = j + 1; i < size_; ++i)
          submit(update3, {tile(i, j), tile(i, k), tile(j, k)}, 2 * (size_ - k) - i - j);
      }
    }
    return static_cast<std::size_t>(size_ * (size_ + 1) * (size_ + 2) / 6);
  }

 private:
  starpu_data_handle_t tile(int i, int j) {
    return handles_[static_cast<std::size_t>(i * size_ + j)];
  }
  int size_ = 1;  // tiles a side
  char item_[kItemBytes] = {};
  std::vector<starpu_data_handle_t> handles_;
};

std::unique_ptr<Shape> make_shape(std::string_view name, std::size_t tasks) {
  if (name == "independent") return std::make_unique<Independent>(tasks);
  if (name == "chain") return std::make_unique<Chain>(tasks);
  if (name == "tree") return std::make_unique<Tree>(tasks);
  if (name == "tiles") return std::make_unique<Tiles>(tasks);
  throw std::invalid_argument(fmt::format("no such shape: {}", name));
}

/// Microseconds a task, from the first submission until all have ended.
double time_of(std::string_view name, std::size_t tasks) {
  const std::unique_ptr<Shape> shape = make_shape(name, tasks);
  const auto start = std::chrono::steady_clock::now();
  const std::size_t submitted = shape->submit_all();
  starpu_task_wait_for_all();
  const std::chrono::duration<double, std::micro> time =
      std::chrono::steady_clock::now() - start;
  return time.count() / static_cast<double>(submitted);
}

/// Processor time in microseconds a task, of all threads. Workers sleep until all tasks
/// have been submitted, so that hardly any of it is waiting for tasks.
double cpu_of(std::string_view name, std::size_t tasks) {
  const std::unique_ptr<Shape> shape = make_shape(name, tasks);
  starpu_pause();
  const double start = espalier::process_seconds();
  const std::size_t submitted = shape->submit_all();
  starpu_resume();
  starpu_task_wait_for_all();
  return (espalier::process_seconds() - start) * 1e6 / static_cast<double>(submitted);
}

/// Growth of the resident set in bytes a task, none of them having started.
double memory_of(std::string_view name, std::size_t tasks) {
  const std::unique_ptr<Shape> shape = make_shape(name, tasks);
  starpu_pause();
  const espalier::Bytes before = espalier::solver::resident_bytes();
  const std::size_t submitted = shape->submit_all();
  const espalier::Bytes after = espalier::solver::resident_bytes();
  starpu_resume();
  starpu_task_wait_for_all();
  return static_cast<double>(after - before) / static_cast<double>(submitted);
}

using Measure = double (*)(std::string_view shape, std::size_t tasks);

Measure measure_named(std::string_view name) {
  if (name == "time") return time_of;
  if (name == "cpu") return cpu_of;
  if (name == "memory") return memory_of;
  throw std::invalid_argument(fmt::format("no such measure: {}", name));
}

int run(Measure measure, std::size_t tasks, std::span<char* const> shapes) {
  if (starpu_init(nullptr) != 0) throw std::runtime_error("StarPU does not start");
  std::string out = fmt::format("{{\"policy\": \"{}\"",
                                starpu_sched_ctx_get_sched_policy(0)->policy_name);
  for (const std::string_view shape : shapes) {
    time_of(shape, 1000);  // threads, heap and policy reach their stride
    out += fmt::format(", \"{}\": {:.4f}", shape, measure(shape, tasks));
  }
  starpu_shutdown();
  fmt::print("{}}}\n", out);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: policy_program time|cpu|memory TASKS SHAPE...\n");
    return 2;
  }
  try {
    return run(measure_named(argv[1]), std::strtoul(argv[2], nullptr, 10),
               {argv + 3, static_cast<std::size_t>(argc) - 3});
  } catch (const std::exception& error) {
    fmt::print(stderr, "policy_program: {}\n", error.what());
    return 2;
  }
}
