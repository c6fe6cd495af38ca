#include "cli/surroundings.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstddef>
#include <exception>
#include <thread>

namespace espalier::cli {
namespace {

constexpr std::size_t kEnoughStack = std::size_t{2} << 20;

// Each takes the lowest number that is free. A descriptor of a path alone refuses reading
// and writing, and `/` is there where /dev is not.
void open_standard_streams() {
  for (int stream = STDIN_FILENO; stream <= STDERR_FILENO; ++stream) {
    if (fcntl(stream, F_GETFD) < 0) static_cast<void>(open("/", O_PATH));
  }
}

void give_threads_enough_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_default_np(&attributes) != 0) return;
  std::size_t size = 0;
  if (pthread_attr_getstacksize(&attributes, &size) == 0 && size < kEnoughStack &&
      pthread_attr_setstacksize(&attributes, kEnoughStack) == 0)
    pthread_setattr_default_np(&attributes);
  pthread_attr_destroy(&attributes);
}

void prepare(int /*argc*/, char** /*argv*/, char** /*environment*/) {
  open_standard_streams();
  give_threads_enough_stack();
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries_start)(int, char**, char**) = prepare;

}  // namespace

int with_enough_stack(const std::function<int()>& work) {
  rlimit limit{};
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur >= kEnoughStack)
    return work();
  int result = 0;
  std::exception_ptr failure;
  std::thread([&] {
    try {
      result = work();
    } catch (...) {
      failure = std::current_exception();
    }
  }).join();
  if (failure) std::rethrow_exception(failure);
  return result;
}

}  // namespace espalier::cli
