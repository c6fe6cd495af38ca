#include "policy/mpi/turns_library.h"

namespace {
pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
}

pthread_mutex_t* turns_library_use() {
  pthread_mutex_lock(&mutex);
  pthread_mutex_unlock(&mutex);
  return &mutex;
}
