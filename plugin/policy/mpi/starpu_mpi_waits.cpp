// Waiting in StarPU-MPI under a bound.
//
// StarPU-MPI's thread carries a barrier and a wait for one message out as blocking calls
// of MPI. A synchronous send, which is what every message of any size is under a bound
// (starpu_mpi_calls.cpp), needs the threads of both processes once more, to say that
// there is room and to send: processes that block for each other would wait for ever. So
// these functions block only when MPI need not wait: a message is waited for by asking
// again and again, and a barrier is entered when all processes have come to it, as
// messages of four bytes tell.

#include <starpu.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "policy/mpi/starpu_mpi_calls.h"
#include "policy/starpu/exports.h"

extern "C" {

// StarPU-MPI's, with MPI's types as pointers.
int starpu_mpi_wait(void** request, void* status);
int starpu_mpi_test(void** request, int* flag, void* status);
int starpu_mpi_isend(starpu_data_handle_t, void** request, int, std::int64_t, void* comm);
int starpu_mpi_irecv(starpu_data_handle_t, void* request, int, std::int64_t, void* comm);
int starpu_mpi_comm_size(void* comm, int* size);
int starpu_mpi_barrier(void* comm);
int starpu_mpi_wait_for_all(void* comm);
int starpu_mpi_shutdown(void);
int starpu_mpi_shutdown_comm(void* comm);

}  // extern "C"

namespace espalier::policy {

namespace {

// Above what programs use, below what StarPU-MPI allows.
constexpr Tag kBarrierTag = Tag{1} << 60;

template <class Done>
void poll(Done done) {
  auto pause = std::chrono::microseconds(5);
  while (!done()) {
    std::this_thread::sleep_for(pause);
    pause = std::min(2 * pause, std::chrono::microseconds(500));
  }
}

// What starpu_mpi_test() returns means something only when the message has ended: before
// that it is 0, or -1 where MPI has been asked (1.3 to master of 2026).
int wait_by_asking(void** request, void* status) {
  static const auto test = next<decltype(starpu_mpi_test)>("starpu_mpi_test");
  int ended = 0, error = 0;
  poll([&] {
    error = test(request, &ended, status);
    return ended != 0;
  });
  return error;
}

// Each process tells those at distances of 1, 2, 4, … behind it.
void gather_at_barrier(Comm comm) {
  static const auto send = next<decltype(starpu_mpi_isend)>("starpu_mpi_isend");
  static const auto comm_size =
      next<decltype(starpu_mpi_comm_size)>("starpu_mpi_comm_size");
  const int rank = rank_in(comm);
  int size = 1;
  comm_size(comm, &size);
  for (int distance = 1, round = 0; distance < size; distance *= 2, ++round) {
    int out = 0, in = 0;
    starpu_data_handle_t sent, received;
    starpu_variable_data_register(&sent, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&out), sizeof out);
    starpu_variable_data_register(&received, STARPU_MAIN_RAM,
                                  reinterpret_cast<std::uintptr_t>(&in), sizeof in);
    void *sending = nullptr, *receiving = nullptr;
    // This library's own, like what starpu_mpi_isend() calls: tags tell the direction.
    starpu_mpi_irecv(received, &receiving, (rank + size - distance) % size,
                     kBarrierTag + round, comm);
    send(sent, &sending, (rank + distance) % size, kBarrierTag + round, comm);
    // Room for an MPI_Status of any library.
    alignas(8) char status[64];
    wait_by_asking(&sending, status);
    wait_by_asking(&receiving, status);
    starpu_data_unregister(sent);
    starpu_data_unregister(received);
  }
}

void wait_until_sent() {
  poll([] { return message_counts.sending == 0; });
}

#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION > 3
// MPI_COMM_SELF of Open MPI, or of MPICH and those with its binary interface.
Comm this_process() {
  void* const open_mpi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_self");
  return open_mpi != nullptr ? open_mpi
                             : reinterpret_cast<Comm>(std::uintptr_t{0x44000001});
}

// Until StarPU-MPI itself counts no message any more: it counts one as ended after it has
// given its data back, and then does what comes next.
void wait_for_messages() {
  static const auto barrier = next<decltype(starpu_mpi_barrier)>("starpu_mpi_barrier");
  do {
    poll([] { return message_counts.under_way == 0; });
    starpu_task_wait_for_all();
  } while (message_counts.under_way > 0);
  barrier(this_process());
}
#endif

}  // namespace

}  // namespace espalier::policy

extern "C" {

using namespace espalier::policy;  // NOLINT: the functions below belong to StarPU

ESPALIER_API int starpu_mpi_wait(void** request, void* status) {
  ESPALIER_NEXT(starpu_mpi_wait);
  return bounded() ? wait_by_asking(request, status) : next_one(request, status);
}

ESPALIER_API int starpu_mpi_barrier(Comm comm) {
  ESPALIER_NEXT(starpu_mpi_barrier);
  if (!bounded()) return next_one(comm);
#if STARPU_MAJOR_VERSION == 1 && STARPU_MINOR_VERSION == 3
  // As it does itself before it calls MPI.
  do {
    poll([] { return message_counts.posted == 0; });
    starpu_task_wait_for_all();
  } while (message_counts.posted > 0);
#endif
  own_messages = true;
  gather_at_barrier(comm);
  own_messages = false;
  return next_one(comm);
}

// Its thread would leave without what waits to be sent.
ESPALIER_API int starpu_mpi_shutdown(void) {
  ESPALIER_NEXT(starpu_mpi_shutdown);
  wait_until_sent();
  return next_one();
}

#if STARPU_MAJOR_VERSION > 1 || STARPU_MINOR_VERSION > 3
// While messages are under way it would wait (1.4 to master of 2026) until its thread has
// nothing to do at all: for ever, when a process that is ahead has announced a message
// that this one receives only after the wait.
ESPALIER_API int starpu_mpi_wait_for_all(Comm comm) {
  ESPALIER_NEXT(starpu_mpi_wait_for_all);
  if (bounded()) wait_for_messages();
  return next_one(comm);
}

ESPALIER_API int starpu_mpi_shutdown_comm(Comm comm) {
  ESPALIER_NEXT(starpu_mpi_shutdown_comm);
  wait_until_sent();
  return next_one(comm);
}
#endif

}  // extern "C"
