// That a thread goes on is a test; how long it waited is not.

#include "policy/core/throttle.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace espalier::policy {
namespace TEST_SOURCE {

void submit(Throttle& throttle) {
  throttle.wait();
  throttle.submitted();
}

// Tasks up to the window, the first of them ready.
void fill(Throttle& throttle, int window) {
  for (int i = 0; i < window; ++i) submit(throttle);
  throttle.ready();
}

TEST(Throttle, DoesNotWaitBeforeTheWindowIsFull) {
  Throttle throttle(100);
  throttle.submitted();
  throttle.ready();
  throttle.running();
  for (int i = 1; i < 100; ++i) submit(throttle);
  EXPECT_EQ(throttle.waited(), 0);
  EXPECT_EQ(throttle.pending(), 100);
}

// Without ever giving up, and neither sooner nor later.
TEST(Throttle, WaitsUntilHalfOfTheWindowIsLeft) {
  Throttle throttle(100);
  for (int i = 0; i < 100; ++i) {
    throttle.submitted();
    throttle.ready();
    throttle.running();
  }
  std::atomic<bool> goes_on = false;
  std::thread submitter([&] {
    throttle.wait();
    goes_on = true;
  });
  // Long enough for the other thread to be in wait(), and to leave it if it does.
  const auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(30)); };
  for (const int left : {100, 76, 75, 51}) {
    while (throttle.pending() > left) throttle.ended();
    pause();
    EXPECT_FALSE(goes_on) << left << " of 100 are left";
  }
  throttle.ended();
  submitter.join();
  EXPECT_EQ(throttle.pending(), 50);
  EXPECT_EQ(throttle.gave_up(), 0);
}

TEST(Throttle, NeverWaitsWithoutAWindow) {
  Throttle throttle(0);
  fill(throttle, 100'000);
  throttle.running();
  submit(throttle);
  EXPECT_EQ(throttle.waited(), 0);
  EXPECT_EQ(throttle.pending(), 100'001);
}

// Paused workers: tasks are ready and none runs.
TEST(Throttle, GoesOnWhenNothingRuns) {
  Throttle throttle(10);
  fill(throttle, 10);
  submit(throttle);
  EXPECT_EQ(throttle.pending(), 11);
  EXPECT_GE(throttle.waited(), Throttle::kReadyPatience);
  EXPECT_EQ(throttle.gave_up(), 1);
}

// All tasks depend on what the program is about to submit, or the gate holds them.
TEST(Throttle, DoesNotWaitWhenNoTaskIsReady) {
  Throttle throttle(10);
  for (int i = 0; i < 10'000; ++i) submit(throttle);
  EXPECT_EQ(throttle.pending(), 10'000);
}

// A task runs that waits for the program.
TEST(Throttle, GoesOnWhenNoTaskEnds) {
  Throttle throttle(10);
  fill(throttle, 10);
  throttle.running();
  submit(throttle);
  EXPECT_EQ(throttle.pending(), 11);
  EXPECT_GE(throttle.waited(), Throttle::kRunningPatience);
}

TEST(Throttle, HavingGivenUpWaitsAgainOnlyOnceATaskHasEnded) {
  Throttle throttle(10);
  fill(throttle, 10);
  submit(throttle);
  const Seconds once = throttle.waited();
  for (int i = 0; i < 1000; ++i) submit(throttle);
  EXPECT_EQ(throttle.waited(), once);
  throttle.running();
  throttle.ended();
  throttle.ready();
  submit(throttle);
  EXPECT_GT(throttle.waited(), once);
}

TEST(Throttle, LetsSeveralThreadsGoOn) {
  constexpr int kThreads = 4, kTasks = 20'000;
  Throttle throttle(64);
  std::atomic<int> queued = 0, left = kThreads * kTasks;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i)
    threads.emplace_back([&] {
      for (int task = 0; task < kTasks; ++task) {
        throttle.wait();
        throttle.submitted();
        throttle.ready();
        ++queued;
      }
    });
  for (int i = 0; i < 2; ++i)
    threads.emplace_back([&] {
      while (left > 0) {
        int some = queued;
        if (some == 0 || !queued.compare_exchange_strong(some, some - 1)) {
          std::this_thread::yield();
          continue;
        }
        throttle.running();
        throttle.ended();
        --left;
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(throttle.pending(), 0);
  EXPECT_EQ(throttle.active(), 0);
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
