#pragma once

#include <pthread.h>

/// Locks and unlocks the library's own mutex. @return it
extern "C" __attribute__((visibility("default"))) pthread_mutex_t* turns_library_use();
