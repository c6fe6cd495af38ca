#include "espalier/machine/memory_limits.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>

#include "espalier/machine/platform.h"

namespace espalier {
namespace TEST_SOURCE {

namespace fs = std::filesystem;

constexpr Bytes kMiB = Bytes{1} << 20;

/// A machine made of files: 1 GiB free, 100 MiB resident, no limits.
class MemoryLimits : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "limits.XXXXXX";
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
    write("proc/meminfo", "MemTotal: 4194304 kB\nMemAvailable: 1048576 kB\n");
    write("proc/self/status", "Name:\tx\nVmHWM:\t204800 kB\nVmRSS:\t102400 kB\n");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  [[nodiscard]] MemoryRoom room() const {
    return memory_room({root_,
                        [this](const char* name) -> const char* {
                          const auto found = variables_.find(name);
                          return found == variables_.end() ? nullptr
                                                           : found->second.c_str();
                        },
                        false});
  }
  void expect_room(Bytes bytes, const char* source) const {
    const MemoryRoom found = room();
    EXPECT_EQ(found.bytes, bytes) << found.source;
    EXPECT_NE(found.source.find(source), std::string::npos) << found.source;
  }

  fs::path root_;
  std::map<std::string, std::string> variables_;
};

TEST_F(MemoryLimits, WithoutAnyFreeMemoryDecides) {
  expect_room(1124 * kMiB, "MemAvailable");
}

TEST_F(MemoryLimits, OfNestedGroupsTheTightestDecides) {
  write("proc/self/cgroup", "0::/job/step\n");
  write("sys/fs/cgroup/job/memory.max", "536870912\n");
  write("sys/fs/cgroup/job/memory.current", "419430400\n");
  write("sys/fs/cgroup/job/step/memory.max", "max\n");
  expect_room((100 + 112) * kMiB, "memory.max of the control group /job (512.0 MiB)");
  // What is held of files can be dropped.
  write("sys/fs/cgroup/job/memory.stat", "anon 7\ninactive_file 104857600\n");
  expect_room((100 + 212) * kMiB, "/job");
  write("sys/fs/cgroup/job/step/memory.max", "209715200\n");
  write("sys/fs/cgroup/job/step/memory.current", "314572800\n");
  expect_room(100 * kMiB, "/job/step");
}

TEST_F(MemoryLimits, AboveWhichAGroupIsThrottledCount) {
  write("proc/self/cgroup", "0::/job\n");
  write("sys/fs/cgroup/job/memory.max", "536870912\n");
  write("sys/fs/cgroup/job/memory.high", "max\n");
  write("sys/fs/cgroup/job/memory.current", "104857600\n");
  expect_room((100 + 412) * kMiB, "memory.max of the control group /job (512.0 MiB)");
  write("sys/fs/cgroup/job/memory.high", "314572800\n");
  expect_room((100 + 200) * kMiB, "memory.high of the control group /job (300.0 MiB)");
  fs::remove(root_ / "sys/fs/cgroup/job/memory.max");
  expect_room((100 + 200) * kMiB, "memory.high");
}

TEST_F(MemoryLimits, GroupsOfVersionOneCount) {
  write("proc/self/cgroup", "5:cpu,cpuacct:/a\n4:memory:/docker/b\n");
  const fs::path top = "sys/fs/cgroup/memory";
  write(top / "memory.limit_in_bytes", "9223372036854771712\n");
  expect_room(1124 * kMiB, "MemAvailable");
  write(top / "memory.limit_in_bytes", "314572800\n");
  write(top / "memory.usage_in_bytes", "209715200\n");
  write(top / "memory.stat", "inactive_file 1\ntotal_inactive_file 20971520\n");
  expect_room((100 + 120) * kMiB, "memory.limit_in_bytes of the control group /");
}

TEST_F(MemoryLimits, SlurmGivesEachTaskItsShare) {
  variables_["SLURM_MEM_PER_CPU"] = "100";
  variables_["SLURM_CPUS_ON_NODE"] = "4";
  expect_room(400 * kMiB, "SLURM_MEM_PER_CPU");
  variables_["SLURM_STEP_TASKS_PER_NODE"] = "2(x3)";
  expect_room(200 * kMiB, "SLURM_MEM_PER_CPU");
  variables_["SLURM_MEM_PER_NODE"] = "900";
  expect_room(450 * kMiB, "SLURM_MEM_PER_NODE");
  for (const char* no_number : {"1e9", "4G", "", "x"}) {
    variables_["SLURM_MEM_PER_NODE"] = no_number;
    expect_room(200 * kMiB, "SLURM_MEM_PER_CPU");
  }
  variables_["SLURM_MEM_PER_NODE"] = "0";  // all of the node
  variables_.erase("SLURM_MEM_PER_CPU");
  expect_room(1124 * kMiB, "MemAvailable");
}

TEST_F(MemoryLimits, NothingIsKnownOfAnEmptyMachine) {
  fs::remove_all(root_ / "proc");
  EXPECT_EQ(room().source, "nothing");
}

TEST(MemoryRoom, OfThisProcessIsInsideTheMachine) {
  const MemoryRoom room = memory_room();
  EXPECT_GT(room.bytes, 0);
  EXPECT_FALSE(room.source.empty());
  EXPECT_LE(this_machine().available_memory, this_machine().memory_size);
}

}  // namespace TEST_SOURCE
}  // namespace espalier
