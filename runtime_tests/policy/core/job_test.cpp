#include "policy/core/job.h"

#include <gtest/gtest.h>

#include <thread>

#include "policy/random_plan.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr std::array<int, 4> kWorkers = {0, 1, 2, 3};

std::shared_ptr<const Plan> plan_of(std::size_t nodes) {
  return simple_plan(std::vector<Task>(nodes), 0);
}

TEST(Job, SpreadsThePlansRangesOverTheContextsWorkers) {
  Placement placement(6);
  auto plan = std::make_shared<Plan>(*plan_of(3));
  plan->workers = 8;
  plan->mapping = {{0, 8}, {0, 3}, {7, 1}};
  const std::array<int, 4> context = {1, 2, 4, 5};  // ranks 0 … 3 for the plan's 0 … 7
  const Job job(plan, context, 6, placement);
  const auto set = [&](int node) {
    return Placement::preferred(*job.destination(TaskId{node}).queue).to_ulong();
  };
  EXPECT_EQ(set(0), 0b110110U);
  EXPECT_EQ(set(1), 0b000110U) << "workers 0, 1, 2 of 8 are ranks 0 and 1 of 4";
  EXPECT_EQ(set(2), 0b100000U);
}

TEST(JobTable, FindsAJobByItsTokensAndNothingElse) {
  Placement placement(4);
  Job a(plan_of(3), kWorkers, 4, placement), b(plan_of(2), kWorkers, 4, placement);
  JobTable table;
  EXPECT_EQ(table.find(&a.gate().nodes()[0]), nullptr);
  EXPECT_TRUE(table.attach(a));
  EXPECT_TRUE(table.attach(b));
  for (auto& node : a.gate().nodes()) EXPECT_EQ(table.find(&node), &a);
  for (auto& node : b.gate().nodes()) EXPECT_EQ(table.find(&node), &b);
  int other = 0;
  EXPECT_EQ(table.find(nullptr), nullptr);
  EXPECT_EQ(table.find(&other), nullptr);
  EXPECT_EQ(table.find(reinterpret_cast<void*>(1)), nullptr) << "not even an address";
  table.detach(a);
  EXPECT_EQ(table.find(&a.gate().nodes()[0]), nullptr);
  EXPECT_EQ(table.find(&b.gate().nodes()[1]), &b);
}

TEST(JobTable, HoldsAsManyAsItSaysAndTakesNewOnesForOld) {
  Placement placement(4);
  std::vector<std::unique_ptr<Job>> jobs;
  JobTable table;
  for (std::size_t i = 0; i <= JobTable::kCapacity; ++i) {
    jobs.push_back(std::make_unique<Job>(plan_of(1), kWorkers, 4, placement));
    EXPECT_EQ(table.attach(*jobs.back()), i < JobTable::kCapacity);
  }
  table.detach(*jobs[3]);
  EXPECT_TRUE(table.attach(*jobs.back()));
  EXPECT_EQ(table.find(&jobs.back()->gate().nodes()[0]), jobs.back().get());
}

TEST(JobTable, CanBeReadWhileJobsComeAndGo) {
  Placement placement(4);
  Job stays(plan_of(4), kWorkers, 4, placement),
      comes(plan_of(4), kWorkers, 4, placement);
  JobTable table;
  ASSERT_TRUE(table.attach(comes));
  ASSERT_TRUE(table.attach(stays));
  std::atomic<bool> stop = false;
  std::thread writer([&] {
    for (int i = 0; i < 20000; ++i) {
      table.detach(comes);
      EXPECT_TRUE(table.attach(comes));
    }
    stop = true;
  });
  int other = 0;
  while (!stop) {
    EXPECT_EQ(table.find(&stays.gate().nodes()[2]), &stays);
    EXPECT_EQ(table.find(&other), nullptr);
    Job* const found = table.find(&comes.gate().nodes()[0]);
    EXPECT_TRUE(found == nullptr || found == &comes);
  }
  writer.join();
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
