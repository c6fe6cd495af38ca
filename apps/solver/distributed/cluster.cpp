#include "solver/distributed/cluster.h"

#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <exception>
#include <optional>
#include <utility>

#include "espalier/model/error.h"
#include "solver/distributed/cores.h"
#include "solver/distributed/identity.h"
#include "solver/distributed/launch.h"
#include "solver/distributed/patience.h"
#include "solver/distributed/transfer.h"
#include "solver/distributed/watch.h"

namespace espalier::solver {
namespace {

constexpr int kBadInput = 2, kInternal = 3;  // exit statuses

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

// For exit() while the others still work: there is no argument to hand to its handler.
std::atomic<Watch*> running_watch = nullptr;

void end_others_at_exit() {
  if (Watch* const watch = running_watch.load())
    watch->fail(kInternal, "left the job before its end");
}

// MPI from its start to its end. Another user of MPI in this process is not expected.
class Library {
 public:
  Library(int& argc, char**& argv, double patience) : patience_(patience) {
    int started = 0, level = 0;
    MPI_Initialized(&started);
    if (started != 0) throw Error("MPI was started before the cluster job");
    set_launch_defaults();
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level), "starting MPI");
    if (level < MPI_THREAD_MULTIPLE) {
      MPI_Finalize();
      throw Error(
          "this MPI does not let several threads communicate (MPI_THREAD_MULTIPLE)");
    }
  }
  ~Library() {
    const Patience ending("ended", patience_);
    MPI_Finalize();
  }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

 private:
  double patience_;
};

}  // namespace

struct Cluster::State {
  State(int& argc, char**& argv, double timeout_seconds)
      : starting(std::in_place, "started", patience(timeout_seconds)),
        library(argc, argv, patience(timeout_seconds)),
        transfer(MPI_COMM_WORLD),
        data(MPI_COMM_WORLD),
        hosts(transfer.gather_all(host_name())),
        watch(MPI_COMM_WORLD, hosts, timeout_seconds) {
    starting.reset();
  }

  // A process that is alone waits for nobody.
  static double patience(double timeout_seconds) {
    return launched_processes() > 1 ? patience_with_all(timeout_seconds) : 0;
  }

  std::optional<Patience> starting;
  Library library;
  Transfer transfer;
  Transfer data;
  std::vector<std::string> hosts;
  Watch watch;
  int exceptions = std::uncaught_exceptions();
};

std::int32_t Cluster::launched_processes() { return launch().processes; }

Cluster::Cluster(int& argc, char**& argv, std::string_view identity) {
  const double timeout_seconds = cluster_timeout();
  state_ = std::make_unique<State>(argc, argv, timeout_seconds);
  running_watch = &state_->watch;
  [[maybe_unused]] static const int registered = std::atexit(end_others_at_exit);
  const std::vector<std::string> identities = state_->transfer.gather(
      fmt::format("{}\n{}", identity, identity_of_build(timeout_seconds)));
  if (rank() == 0) {
    const std::optional<std::string> difference =
        first_difference(identities, state_->hosts);
    if (difference) fail(kBadInput, *difference);
  }
  share_cores(state_->transfer, state_->hosts);
  barrier();
}

// An exception leaves in one process only: the others would wait for it for ever.
Cluster::~Cluster() {
  if (std::uncaught_exceptions() > state_->exceptions)
    fail(kInternal, "left the job by an exception");
  try {
    barrier();
  } catch (const std::exception& error) {
    fail(kInternal, error.what());
  }
  running_watch = nullptr;
}

std::int32_t Cluster::rank() const { return state_->transfer.rank(); }
std::int32_t Cluster::size() const { return state_->transfer.size(); }

void Cluster::barrier() { state_->transfer.barrier(); }

void Cluster::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  state_->transfer.broadcast(bytes, root);
}

void Cluster::sum(std::span<double> values) { state_->transfer.sum(values); }

std::int64_t Cluster::sum(std::int64_t value) {
  std::int64_t total = 0;
  for (const std::int64_t each : gather_all(value)) total = checked_add(total, each);
  return total;
}

std::int64_t Cluster::largest(std::int64_t value) {
  return std::ranges::max(gather_all(value));
}

std::int64_t Cluster::smallest(std::int64_t value) {
  return std::ranges::min(gather_all(value));
}

double Cluster::largest(double value) {
  double most = value;
  for (const double each : state_->transfer.gather_all(value))
    if (std::isnan(each) || each > most) most = each;
  return most;
}

std::vector<std::int64_t> Cluster::gather_all(std::int64_t value) {
  return state_->transfer.gather_all(value);
}

std::vector<std::string> Cluster::gather(std::string_view text) {
  return state_->transfer.gather(text);
}

void Cluster::send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) {
  state_->transfer.send(bytes, to, tag);
}

void Cluster::receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) {
  state_->transfer.receive(bytes, from, tag);
}

void Cluster::fail(int status, std::string_view message) {
  state_->watch.fail(status, message);
}

void* Cluster::data_communicator() const { return state_->data.communicator(); }

}  // namespace espalier::solver
