// Random programs on data handles, run by StarPU inside bounds from the least that
// suffices. What is allocated is counted at the interface of StarPU's data, by nothing of
// the policy's. A program that hangs or fails is printed.
//
//   ESPALIER_TEST_PROGRAMS=100000 build/ci/tests/policy_handle_programs_test

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <set>
#include <string>

#include "policy/starpu_run.h"
#include "support/handle_program.h"
#include "support/sanitized.h"

namespace espalier::policy {
namespace TEST_SOURCE {

// Bytes of vectors in main memory, as StarPU's memory manager counts: from before they
// are allocated until after they have been freed.
class VectorCount {
 public:
  VectorCount() {
    allocate_ = starpu_interface_vector_ops.allocate_data_on_node;
    free_ = starpu_interface_vector_ops.free_data_on_node;
    starpu_interface_vector_ops.allocate_data_on_node = [](void* data, unsigned node) {
      const Bytes now = in_memory += size(data);
      for (Bytes peak = most; now > peak && !most.compare_exchange_weak(peak, now);) {
      }
      return allocate_(data, node);
    };
    starpu_interface_vector_ops.free_data_on_node = [](void* data, unsigned node) {
      const Bytes bytes = size(data);
      free_(data, node);
      in_memory -= bytes;
    };
  }
  ~VectorCount() {
    starpu_interface_vector_ops.allocate_data_on_node = allocate_;
    starpu_interface_vector_ops.free_data_on_node = free_;
  }
  VectorCount(const VectorCount&) = delete;
  VectorCount& operator=(const VectorCount&) = delete;

  static inline std::atomic<Bytes> in_memory = 0, most = 0;

 private:
  static Bytes size(const void* data) {
    const auto* const vector = static_cast<const starpu_vector_interface*>(data);
    return static_cast<Bytes>(vector->nx * vector->elemsize);
  }
  static inline decltype(starpu_data_interface_ops::allocate_data_on_node) allocate_;
  static inline decltype(starpu_data_interface_ops::free_data_on_node) free_;
};

constexpr Bytes kBound = Bytes{1} << 20;

// Bytes of a program that has the bound to itself but for a filler.
struct Scaled {
  Bytes unit, filler;
};

Scaled scale(Bytes least, double factor) {
  const auto share = static_cast<Bytes>(static_cast<double>(kBound) / factor);
  const Bytes unit = share / least;
  const auto wanted = static_cast<Bytes>(static_cast<double>(least * unit) * factor);
  return {unit, kBound - std::min(wanted, kBound)};
}

std::string running;  // for the message when StarPU's watchdog aborts

void print_running(int) {
  std::fprintf(stderr, "hung in\n%s", running.c_str());
  std::signal(SIGABRT, SIG_DFL);
  std::abort();
}

void touch(void* buffers[], void*) {
  auto* const vector = static_cast<starpu_vector_interface*>(buffers[0]);
  // At least a byte each. StarPU orders the tasks, in a way that a thread sanitizer does
  // not see.
  std::atomic_ref(*reinterpret_cast<char*>(vector->ptr)) = 1;
}

// The number of data and the modes are the task's.
starpu_codelet codelet = [] {
  starpu_codelet c{};
  c.cpu_funcs[0] = touch;
  c.nbuffers = STARPU_VARIABLE_NBUFFERS;
  return c;
}();

class Program {
 public:
  Program(const support::HandleProgram& program, Scaled scaled)
      : program_(program), scaled_(scaled), handles_(program.sizes.size(), nullptr) {}

  void run(std::mt19937& random) {
    starpu_data_handle_t filler = nullptr;
    if (scaled_.filler > 0) {
      filler = make(scaled_.filler);
      submit({{filler, STARPU_W}});
    }
    const bool paused = random() % 3 == 0;
    if (paused) starpu_pause();
    for (const auto& step : program_.steps) {
      if (step.release)
        release(static_cast<std::size_t>(step.reads[0]), random() % 2 == 0);
      else
        submit(accesses(step));
    }
    if (filler != nullptr) starpu_data_unregister_submit(filler);
    if (paused) starpu_resume();
    starpu_task_wait_for_all();
    for (const starpu_data_handle_t handle : handles_)
      if (handle != nullptr) starpu_data_unregister(handle);
  }

 private:
  using Access = std::pair<starpu_data_handle_t, starpu_data_access_mode>;

  static starpu_data_handle_t make(Bytes bytes) {
    starpu_data_handle_t handle = nullptr;
    starpu_vector_data_register(&handle, -1, 0, static_cast<std::uint32_t>(bytes), 1);
    return handle;
  }

  std::vector<Access> accesses(const support::HandleProgram::Step& step) {
    std::vector<Access> list;
    for (const int d : step.writes) {
      auto& handle = handles_[static_cast<std::size_t>(d)];
      const bool exists = handle != nullptr && !invalid_.contains(d);
      if (handle == nullptr)
        handle = make(program_.sizes[static_cast<std::size_t>(d)] * scaled_.unit);
      invalid_.erase(d);
      list.emplace_back(handle, exists ? STARPU_RW : STARPU_W);
    }
    for (const int d : step.reads)
      list.emplace_back(handles_[static_cast<std::size_t>(d)], STARPU_R);
    return list;
  }

  void release(std::size_t d, bool invalidate) {
    if (invalidate) {
      starpu_data_invalidate_submit(handles_[d]);
      invalid_.insert(static_cast<int>(d));
      return;
    }
    starpu_data_unregister_submit(handles_[d]);
    handles_[d] = nullptr;
  }

  static void submit(const std::vector<Access>& accesses) {
    starpu_task* const task = starpu_task_create();
    task->cl = &codelet;
    task->nbuffers = static_cast<int>(accesses.size());
    for (std::size_t i = 0; i < accesses.size(); ++i) {
      task->handles[i] = accesses[i].first;
      task->modes[i] = accesses[i].second;
    }
    ASSERT_EQ(starpu_task_submit(task), 0);
  }

  const support::HandleProgram& program_;
  const Scaled scaled_;
  std::vector<starpu_data_handle_t> handles_;
  std::set<int> invalid_;
};

int programs_wanted() {
  const char* const text = std::getenv("ESPALIER_TEST_PROGRAMS");
  return text != nullptr ? std::atoi(text) : static_cast<int>(support::rounds(3'000));
}

TEST(HandlePrograms, FinishInsideEveryBoundThatSuffices) {
  setenv("ESPALIER_MEMORY", std::to_string(kBound).c_str(), 1);
  const std::string report = ::testing::TempDir() + "handle_programs.json";
  setenv("ESPALIER_REPORT", report.c_str(), 1);
  std::signal(SIGABRT, print_running);
  {
    const VectorCount count;
    const StarPuRun starpu(2);
    ASSERT_TRUE(starpu.ok());
    std::mt19937 random(2026);
    const int wanted = programs_wanted();
    for (int round = 0; round < wanted; ++round) {
      support::HandleProgramOptions options;
      options.data = 1 + round % 7;
      options.tasks = 1 + round % 11;
      options.reuses = round % 2 == 0;
      options.releases_late = round % 5 == 0;
      auto program = support::random_handle_program(random, options);
      for (Bytes& size : program.sizes) ++size;
      const Bytes least = support::sequential_peak(program);
      if (least == 0) continue;
      const double factor = 1 + (round % 4 == 0 ? 0 : round % 7 * 0.25);
      running =
          fmt::format("round {}, {} x the least\n{}", round, factor, program.text());
      VectorCount::most = 0;
      Program(program, scale(least, factor)).run(random);
      ASSERT_LE(VectorCount::most, kBound) << running;
      ASSERT_EQ(VectorCount::in_memory, 0) << running;
    }
  }
  std::signal(SIGABRT, SIG_DFL);
  unsetenv("ESPALIER_MEMORY");
  unsetenv("ESPALIER_REPORT");
  // And the policy was sure of each task that it let in.
  std::FILE* const file = std::fopen(report.c_str(), "r");
  ASSERT_NE(file, nullptr);
  std::string text(1 << 16, '\0');
  text.resize(std::fread(text.data(), 1, text.size(), file));
  std::fclose(file);
  EXPECT_NE(text.find("\"unsafe_admissions\": 0"), std::string::npos) << text;
  EXPECT_NE(text.find("\"overruns\": 0"), std::string::npos) << text;
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
