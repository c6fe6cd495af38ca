#include "policy/mpi/turns.h"

#include <cerrno>

namespace espalier::policy {

const void* Turns::this_thread() {
  thread_local const char address = 0;
  return &address;
}

// Mutexes stay in the table: it is for those that live as long as the program.
Turns::Turn* Turns::turn_of(pthread_mutex_t* mutex) {
  for (Turn& turn : turns_) {
    pthread_mutex_t* owner = turn.mutex.load(std::memory_order_acquire);
    if (owner == nullptr && turn.mutex.compare_exchange_strong(owner, mutex))
      return &turn;
    if (owner == mutex) return &turn;
  }
  return nullptr;
}

// Who waits is counted until just before `taken` is: where somebody is seen to wait,
// `taken` is going to change from what it was before.
bool Turns::let_others(Turn& turn) {
  const int before = turn.taken;
  if (turn.waiting == 0) return false;
  turn.taken.wait(before);
  return true;
}

int Turns::take(pthread_mutex_t* mutex, Turn& turn) {
  int status = pthread_mutex_trylock(mutex);
  if (status == EBUSY) {
    ++turn.waiting;
    status = pthread_mutex_lock(mutex);
    --turn.waiting;
    ++turn.taken;
    turn.taken.notify_all();
  }
  if (status == 0) turn.last.store(this_thread(), std::memory_order_relaxed);
  return status;
}

}  // namespace espalier::policy
