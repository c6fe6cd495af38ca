#include "cli/job/cluster.h"

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

#include "cli/job/cores.h"
#include "cli/job/exit_status.h"
#include "cli/job/failure_detector.h"
#include "cli/job/identity.h"
#include "cli/job/launch.h"
#include "cli/job/patience.h"
#include "espalier/model/error.h"
#include "solver/distributed/mpi_calls.h"
#include "solver/distributed/mpi_communicator.h"

namespace espalier::cli {

using solver::check_mpi;
using solver::MpiCommunicator;

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return "unknown host";
  return name.data();
}

// For exit() while the others still work: there is no argument to hand to its handler.
std::atomic<FailureDetector*> running_detector = nullptr;

void end_others_at_exit() {
  if (FailureDetector* const detector = running_detector.load())
    detector->fail(kInternal, "left the job before its end");
}

// MPI from its start to its end. Another user of MPI in this process is not expected.
class Library {
 public:
  Library(int& argc, char**& argv, double patience) : patience_(patience) {
    int started = 0, level = 0;  // the level is asked for by MpiCommunicator
    MPI_Initialized(&started);
    if (started != 0) throw Error("MPI was started before the cluster job");
    set_launch_defaults();
    check_mpi(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &level), "starting MPI");
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
        communicator(MPI_COMM_WORLD),
        hosts(communicator.gather_all(host_name())),
        detector(MPI_COMM_WORLD, hosts, timeout_seconds) {
    starting.reset();
  }

  // A process that is alone waits for nobody.
  static double patience(double timeout_seconds) {
    return launched_processes() > 1 ? patience_with_all(timeout_seconds) : 0;
  }

  std::optional<Patience> starting;
  Library library;
  MpiCommunicator communicator;
  std::vector<std::string> hosts;
  FailureDetector detector;
  int exceptions = std::uncaught_exceptions();
};

std::int32_t Cluster::launched_processes() { return launch().processes; }

Cluster::Cluster(int& argc, char**& argv, std::string_view identity) {
  const double timeout_seconds = cluster_timeout();
  state_ = std::make_unique<State>(argc, argv, timeout_seconds);
  running_detector = &state_->detector;
  [[maybe_unused]] static const int registered = std::atexit(end_others_at_exit);
  const std::vector<std::string> identities = state_->communicator.gather(
      fmt::format("{}\n{}", identity, identity_of_build(timeout_seconds)));
  if (rank() == 0) {
    const std::optional<std::string> difference =
        first_difference(identities, state_->hosts);
    if (difference) fail(kBadInput, *difference);
  }
  share_cores(state_->communicator, state_->hosts);
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
  running_detector = nullptr;
}

std::int32_t Cluster::rank() const { return state_->communicator.rank(); }
std::int32_t Cluster::size() const { return state_->communicator.size(); }

void Cluster::barrier() { state_->communicator.barrier(); }

void Cluster::broadcast(std::span<std::byte> bytes, std::int32_t root) {
  state_->communicator.broadcast(bytes, root);
}

void Cluster::sum(std::span<double> values) { state_->communicator.sum(values); }

std::vector<std::int64_t> Cluster::gather_all(std::int64_t value) {
  return state_->communicator.gather_all(value);
}

std::vector<double> Cluster::gather_all(double value) {
  return state_->communicator.gather_all(value);
}

std::int64_t Cluster::smallest_share(std::int64_t of_host) {
  const std::vector<std::string>& hosts = state_->hosts;
  return smallest(of_host /
                  std::ranges::count(hosts, hosts[static_cast<std::size_t>(rank())]));
}

std::vector<std::string> Cluster::gather(std::string_view text) {
  return state_->communicator.gather(text);
}

void Cluster::send(std::span<const std::byte> bytes, std::int32_t to, std::int32_t tag) {
  state_->communicator.send(bytes, to, tag);
}

void Cluster::receive(std::span<std::byte> bytes, std::int32_t from, std::int32_t tag) {
  state_->communicator.receive(bytes, from, tag);
}

void Cluster::fail(int status, std::string_view message) {
  state_->detector.fail(status, message);
}

std::unique_ptr<solver::Channel> Cluster::open_channel(std::function<void()> failed) {
  return state_->communicator.open_channel(std::move(failed));
}

void* Cluster::data_communicator() const {
  return state_->communicator.data_communicator();
}

}  // namespace espalier::cli
