#include "policy/mpi/turns.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <thread>
#include <vector>

#include "policy/mpi/redirect.h"
#include "policy/mpi/turns_library.h"

namespace espalier::policy {
namespace TEST_SOURCE {

constexpr auto kNothing = [] {};

// What StarPU-MPI's thread does: it unlocks the mutex for an instant only. Each time
// somebody waits for it then.
TEST(Turns, WhoWaitsHasTheMutexBeforeTheLastHolderHasItAgain) {
  constexpr int kTimes = 2000;
  Turns turns;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  std::atomic<int> had = 0;
  turns.lock(&mutex, kNothing);
  std::thread other([&] {
    for (int i = 0; i < kTimes; ++i) {
      turns.lock(&mutex, kNothing);
      ++had;
      pthread_mutex_unlock(&mutex);
    }
  });
  int passed_over = 0;
  for (int i = 0; i < kTimes; ++i) {
    while (turns.waiting(&mutex) == 0 && had < kTimes) std::this_thread::yield();
    const int before = had;
    pthread_mutex_unlock(&mutex);
    turns.lock(&mutex, kNothing);
    if (before < kTimes && had == before) ++passed_over;
  }
  pthread_mutex_unlock(&mutex);
  other.join();
  EXPECT_EQ(passed_over, 0);
  EXPECT_EQ(had, kTimes);
}

// Nobody may wait for a turn of somebody who has had his.
TEST(Turns, ThreadsThatLockAgainAndAgainAllEnd) {
  constexpr int kThreads = 4, kTimes = 20000;
  Turns turns;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  int count = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < kTimes; ++i) {
        turns.lock(&mutex, kNothing);
        ++count;
        pthread_mutex_unlock(&mutex);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kTimes);
}

TEST(Turns, LetsGoOnlyWhereTheSameThreadHadItLastAndNobodyWaits) {
  Turns turns;
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
  int let_go = 0;
  const auto use = [&](pthread_mutex_t* m) {
    turns.lock(m, [&] { ++let_go; });
    pthread_mutex_unlock(m);
  };
  use(&mutex);
  use(&other);
  EXPECT_EQ(let_go, 0);
  use(&mutex);
  EXPECT_EQ(let_go, 1);
  std::thread([&] { use(&mutex); }).join();
  use(&mutex);
  EXPECT_EQ(let_go, 1);
}

TEST(Turns, MoreMutexesThanItKnowsAreLockedAsEver) {
  Turns turns;
  std::vector<pthread_mutex_t> mutexes(Turns::kMost + 2);
  for (pthread_mutex_t& mutex : mutexes) {
    mutex = PTHREAD_MUTEX_INITIALIZER;
    EXPECT_EQ(turns.lock(&mutex, kNothing), 0);
    EXPECT_EQ(pthread_mutex_trylock(&mutex), EBUSY);
  }
}

int locked = 0;
int lock_and_count(pthread_mutex_t* mutex) {
  ++locked;
  return pthread_mutex_lock(mutex);
}

TEST(Redirect, OneLibrarysCallsGoElsewhere) {
  const Redirection redirections[] = {
      {"pthread_mutex_lock", reinterpret_cast<void*>(lock_and_count)}};
  pthread_mutex_t* const theirs = turns_library_use();
  EXPECT_EQ(locked, 0);
  for (int time = 1; time <= 2; ++time) {
    const Variables variables = redirect_calls("turns_library", redirections);
    EXPECT_TRUE(variables.has(theirs));
    EXPECT_FALSE(variables.has(&locked));
    turns_library_use();
    EXPECT_EQ(locked, time);
  }
  pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
  pthread_mutex_lock(&mutex);
  EXPECT_EQ(locked, 2);
}

TEST(Redirect, ALibraryThatIsNotLoadedHasNoVariables) {
  const Redirection redirections[] = {
      {"pthread_mutex_lock", reinterpret_cast<void*>(lock_and_count)}};
  const Variables none = redirect_calls("no_such_library", redirections);
  EXPECT_FALSE(none.has(&locked));
  EXPECT_FALSE(none.has(nullptr));
}

}  // namespace TEST_SOURCE
}  // namespace espalier::policy
