// The summary of all processes, which rank 0 prints.
//
// At the beginning of MPI_Finalize nothing else uses MPI any more, in whichever thread
// that is, and every process comes there: each sends its figures to rank 0. Sending that
// little does not wait for the receiver, so a job in which only some processes run the
// policy ends, too. MPI is not linked, but found in the process; its constants are known
// for Open MPI. With others there are the processes' own reports.

#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "policy/core/rank_summary.h"
#include "policy/mpi/starpu_mpi_calls.h"
#include "policy/starpu/exports.h"
#include "policy/starpu/session.h"

namespace espalier::policy {

namespace {

constexpr int kTag = 24871;
constexpr std::chrono::seconds kPatience(60);

using Type = void*;

struct Mpi {
  Comm world;
  Type byte;
  int (*rank)(Comm, int*);
  int (*size)(Comm, int*);
  int (*send)(const void*, int, Type, int, int, Comm);
  int (*probe)(int, int, Comm, int*, void*);
  int (*receive)(void*, int, Type, int, int, Comm, void*);
};

template <class Function>
bool find(Function*& function, const char* name) {
  function = reinterpret_cast<Function*>(dlsym(RTLD_DEFAULT, name));
  return function != nullptr;
}

std::optional<Mpi> open_mpi() {
  Mpi mpi{};
  mpi.world = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
  mpi.byte = dlsym(RTLD_DEFAULT, "ompi_mpi_byte");
  const bool found = mpi.world != nullptr && mpi.byte != nullptr &&
                     find(mpi.rank, "MPI_Comm_rank") && find(mpi.size, "MPI_Comm_size") &&
                     find(mpi.send, "MPI_Send") && find(mpi.probe, "MPI_Iprobe") &&
                     find(mpi.receive, "MPI_Recv");
  return found ? std::optional(mpi) : std::nullopt;
}

// From all that send something in time.
std::vector<RankFigures> receive_all(const Mpi& mpi, int size) {
  std::vector<RankFigures> received;
  std::vector<char> has(static_cast<std::size_t>(size), 0);
  const auto start = std::chrono::steady_clock::now();
  while (received.size() + 1 < static_cast<std::size_t>(size) &&
         std::chrono::steady_clock::now() - start < kPatience) {
    for (int rank = 1; rank < size; ++rank) {
      // Room for an MPI_Status.
      alignas(8) char status[64];
      int there = 0;
      if (has[static_cast<std::size_t>(rank)] != 0) continue;
      if (mpi.probe(rank, kTag, mpi.world, &there, status) != 0 || there == 0) continue;
      RankFigures figures;
      mpi.receive(&figures, sizeof figures, mpi.byte, rank, kTag, mpi.world, status);
      received.push_back(figures);
      has[static_cast<std::size_t>(rank)] = 1;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return received;
}

void summarise() {
  const std::optional<Mpi> mpi = open_mpi();
  if (!mpi || !Session::report_is_asked_for()) return;
  int rank = 0, size = 1;
  if (mpi->rank(mpi->world, &rank) != 0 || mpi->size(mpi->world, &size) != 0 || size < 2)
    return;
  RankFigures own;
  own.rank = rank;
  if (const std::optional<RunReport> report = Session::latest_report())
    own = figures_of(*report, rank);
  if (rank != 0) {
    mpi->send(&own, sizeof own, mpi->byte, 0, kTag, mpi->world);
    return;
  }
  std::vector<RankFigures> ranks = receive_all(*mpi, size);
  ranks.push_back(own);
  std::fputs(summary_text(ranks, size).c_str(), stderr);
}

}  // namespace

}  // namespace espalier::policy

extern "C" {

int MPI_Finalize(void);

ESPALIER_API int MPI_Finalize(void) {
  static const auto next_one =
      espalier::policy::next<decltype(MPI_Finalize)>("MPI_Finalize");
  try {
    espalier::policy::summarise();
  } catch (const std::exception& e) {
    std::fprintf(stderr, "espalier: no summary of the processes: %s\n", e.what());
  }
  return next_one != nullptr ? next_one() : 0;
}

}  // extern "C"
