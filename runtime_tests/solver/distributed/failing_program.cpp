// A program that fails in the way that its first argument names; started by mpirun.

#include <mpi.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "cli/job/cluster.h"

namespace espalier::solver {

using namespace cli;
namespace {

std::atomic<bool> enough = false;

void compute_for_ever() {
  while (!enough) {
  }
}

// Those that do not fail are busy in one way each: waiting for a message of the one that
// fails, computing, sending it what it does not take, in a barrier.
void be_busy(Cluster& cluster, std::int32_t failing) {
  std::vector<std::byte> bytes(std::size_t{8} << 20);
  switch (cluster.rank() % 4) {
    case 0:
      cluster.receive(bytes, failing, 0);
      break;
    case 1:
      compute_for_ever();
      break;
    case 2:
      cluster.send(bytes, failing, 0);
      break;
    default:
      cluster.barrier();
  }
}

using Way = std::function<void(Cluster&)>;

const std::map<std::string, Way, std::less<>> kWays = {
    {"nothing", [](Cluster&) {}},
    {"long", [](Cluster& cluster) { cluster.fail(2, std::string(100'000, 'x')); }},
    {"fail", [](Cluster& cluster) { cluster.fail(1, "the answer is no"); }},
    {"fail in a thread",
     [](Cluster& cluster) {
       std::thread([&] { cluster.fail(1, "the answer is no"); }).detach();
       compute_for_ever();
     }},
    {"throw", [](Cluster&) { throw std::runtime_error("thrown"); }},
    {"exit", [](Cluster&) { std::exit(0); }},
    {"kill", [](Cluster&) { raise(SIGKILL); }},
    {"crash", [](Cluster&) { raise(SIGSEGV); }},
    {"stop", [](Cluster&) { raise(SIGSTOP); }},
    {"wait", [](Cluster& cluster) { cluster.barrier(); }},
};

// Where the last process stops, beside what it does in a job that has started.
enum class Stop { kNowhere, kBeforeMpi, kAfterMpiStarted, kBeforeMpiEnds };
Stop stop = Stop::kNowhere;

void stop_at(Stop place) {
  if (stop == place) raise(SIGSTOP);
}

Stop stop_of(std::string_view way) {
  if (way == "stop before MPI") return Stop::kBeforeMpi;
  if (way == "stop after MPI has started") return Stop::kAfterMpiStarted;
  if (way == "stop before MPI ends") return Stop::kBeforeMpiEnds;
  return Stop::kNowhere;
}

int run(int argc, char** argv) {
  const std::string_view way = argc > 1 ? argv[1] : "nothing";
  const std::string_view who = argc > 2 ? argv[2] : "last";
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  const std::int32_t processes = Cluster::launched_processes();
  if (who == "first" ? std::atoi(rank) == 0 : std::atoi(rank) == processes - 1)
    stop = stop_of(way);
  stop_at(Stop::kBeforeMpi);
  const std::string identity =
      way == "differ" ? std::string("colour=") + rank + "\n" : "colour=red\n";
  Cluster cluster(argc, argv, identity);
  cluster.barrier();
  if (way == "nothing" || stop_of(way) != Stop::kNowhere) return 0;
  if (cluster.rank() == 0) {
    std::puts("started");
    std::fflush(stdout);
  }
  const std::int32_t failing = who == "first" ? 0 : cluster.size() - 1;
  if (who != "all" && cluster.rank() != failing) be_busy(cluster, failing);
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  kWays.find(way)->second(cluster);
  return 0;
}

}  // namespace
}  // namespace espalier::solver

// The first and the last of the calls that all processes make together.
extern "C" int MPI_Comm_dup(MPI_Comm communicator, MPI_Comm* copy) {
  espalier::solver::stop_at(espalier::solver::Stop::kAfterMpiStarted);
  return PMPI_Comm_dup(communicator, copy);
}

extern "C" int MPI_Finalize() {
  espalier::solver::stop_at(espalier::solver::Stop::kBeforeMpiEnds);
  return PMPI_Finalize();
}

int main(int argc, char** argv) {
  try {
    return espalier::solver::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 3;
  }
}
