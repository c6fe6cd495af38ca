#pragma once

#include <pthread.h>

#include <array>
#include <atomic>
#include <cstddef>

namespace espalier::policy {

/// Mutexes of the C library, taken in turns.
///
/// glibc's mutexes are not fair: a thread that unlocks one and locks it again at once has
/// it before a thread that waits for it has woken up, and may do so for seconds. Here a
/// thread that had a mutex last and wants it again lets one of those have it first who
/// wait for it in lock(). So whoever waits is passed by one holding of each other thread
/// at most that wants the mutex again and again.
///
/// Mutexes may be waited for with pthread_cond_wait(), and locked and unlocked without
/// these functions: such a holder counts as another one.
///
/// Not contended, lock() costs a few nanoseconds more than pthread_mutex_lock().
class Turns {
 public:
  /// @param let_go  called by a thread, not holding the mutex, that is about to take it
  ///                again while nobody waits
  template <class LetGo>
  int lock(pthread_mutex_t* mutex, LetGo let_go) {
    Turn* const turn = turn_of(mutex);
    if (turn == nullptr) return pthread_mutex_lock(mutex);
    if (turn->last == this_thread() && !let_others(*turn)) let_go();
    return take(mutex, *turn);
  }

  /// Threads that wait in lock() now.
  [[nodiscard]] int waiting(pthread_mutex_t* mutex) {
    const Turn* const turn = turn_of(mutex);
    return turn != nullptr ? turn->waiting.load() : 0;
  }

  /// Mutexes that take turns, at most; others are as the C library has them.
  static constexpr std::size_t kMost = 32;

 private:
  struct Turn {
    std::atomic<pthread_mutex_t*> mutex = nullptr;
    std::atomic<int> waiting = 0;
    std::atomic<int> taken = 0;  // by those who waited
    std::atomic<const void*> last = nullptr;
  };

  static const void* this_thread();
  Turn* turn_of(pthread_mutex_t* mutex);
  static bool let_others(Turn& turn);
  static int take(pthread_mutex_t* mutex, Turn& turn);

  std::array<Turn, kMost> turns_;
};

}  // namespace espalier::policy
