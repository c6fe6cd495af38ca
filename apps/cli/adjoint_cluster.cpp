// espalier adjoint on two processes of a job that mpirun or srun started: the second
// lends its memory for states.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "cli/adjoint_partner.h"
#include "cli/end_the_job.h"
#include "cli/job/cluster.h"
#include "cli/settle_memory.h"
#include "espalier/model/exact_size.h"
#include "solver/distributed/starpu_mpi_channel.h"
#include "solver/memory/process_memory.h"
#include "training/remote/partner.h"

namespace espalier::cli {
namespace {

using solver::PageBuffer;
using solver::StarpuMpiChannel;
using training::AdjointJob;

// What must be the same at both processes.
std::string identity(const AdjointOptions& options) {
  return fmt::format(
      "version={}\nmodel={}\ngrid={}\nsteps={}\nmemory={} {} {}\nslots={}\n"
      "remote slots={}",
      ESPALIER_VERSION, options.model, options.grid, options.steps,
      static_cast<int>(options.memory.kind), options.memory.common_size(),
      options.memory.factor, options.job.wish.memory_slots.value_or(-1),
      options.remote_slots.value_or(-1));
}

// What process 0 asks process 1 for.
struct Loan {
  Bytes bound = -1;  // -1: none
  Bytes state_bytes = 0;
  std::int64_t slots = 0;
};

class Borrowed final : public AdjointPartner {
 public:
  Borrowed(Cluster& cluster, const AdjointOptions& options, const Suggest& suggest)
      : cluster_(cluster), options_(options), suggest_(suggest) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;

  void start(AdjointJob& job) override {
    const solver::Awake awake(job.runtime());
    channel_ = std::make_unique<StarpuMpiChannel>(
        cluster_.data_communicator(), [this] { end_the_job(cluster_, suggest_); });
    cluster_.barrier();
    job.measure_again(kMessagesReserve);
  }
  Bytes least(Bytes own) override { return cluster_.largest(own); }

  // Without a bound there is room in this process for all states.
  void lend(AdjointJob& job, std::optional<Bytes> bound) override {
    const std::int64_t useful = training::useful_slots(job.budget().chain);
    const bool scarce = bound || options_.job.wish.memory_slots;
    Loan loan{.bound = bound.value_or(-1),
              .state_bytes = job.budget().chain.state_bytes(),
              .slots = std::min(useful, options_.remote_slots.value_or(
                                            scarce ? useful : std::int64_t{0}))};
    cluster_.broadcast(std::as_writable_bytes(std::span(&loan, 1)));
    const std::int64_t lent = cluster_.gather_all(std::int64_t{0})[1];
    if (lent == 0) return;
    store_ = std::make_unique<training::PartnerStore>(*channel_, 1);
    job.borrow(*store_, lent);
  }

  std::vector<Bytes> finish(AdjointJob& job) override {
    const solver::Awake awake(job.runtime());
    std::vector<Bytes> peaks = cluster_.gather_all(solver::peak_resident_bytes());
    store_.reset();
    channel_.reset();
    return peaks;
  }

 private:
  Cluster& cluster_;
  const AdjointOptions& options_;
  const Suggest& suggest_;
  std::unique_ptr<StarpuMpiChannel> channel_;
  std::unique_ptr<training::PartnerStore> store_;
};

// The calls of Borrowed, from the other side.
void lend_over(StarpuMpiChannel& channel, Cluster& cluster, const AdjointOptions& options,
               const Suggest& suggest, std::optional<training::LentSlots>& slots) {
  cluster.barrier();
  const solver::ProcessAccount account =
      solver::measure_process(checked_add(solver::runtime_reserve(1), kMessagesReserve));
  // What does for both: who refuses first says it.
  const Bytes least =
      options.bounded() ? cluster.largest(account.least(0)) : account.least(0);
  Loan loan;
  cluster.broadcast(std::as_writable_bytes(std::span(&loan, 1)));
  if (loan.bound >= 0) {
    if (account.needed(0) > loan.bound)
      cluster.fail(
          kNo,
          last_words(
              {kNo,
               fmt::format("--memory {}: this process, which lends slots, needs "
                           "{} without any",
                           format_size(loan.bound), size_with_bytes(account.least(0))),
               raise_memory(least)},
              suggest));
    // A page is what rounding up can take.
    const Bytes left = account.left(loan.bound) - PageBuffer::footprint(1);
    loan.slots = std::clamp<std::int64_t>(left / loan.state_bytes, 0, loan.slots);
  }
  if (loan.slots > 0) {
    slots.emplace(checked_mul(loan.slots, loan.state_bytes));
    slots->serve(channel);
  }
  static_cast<void>(cluster.gather_all(loan.slots));
  static_cast<void>(cluster.gather_all(solver::peak_resident_bytes()));
}

void lend(Cluster& cluster, const AdjointOptions& options, const Suggest& suggest) {
  const solver::Runtime runtime(
      {.workers = 1, .scheduler = options.job.runtime.scheduler});
  std::optional<training::LentSlots> slots;  // later than the channel ends
  const solver::Awake awake(runtime);
  StarpuMpiChannel channel(cluster.data_communicator(),
                           [&] { end_the_job(cluster, suggest); });
  try {
    lend_over(channel, cluster, options, suggest, slots);
  } catch (...) {  // before the channel waits for the others to end theirs
    end_the_job(cluster, suggest);
  }
}

Ending run_on(Cluster& cluster, AdjointOptions& options, MakeModel make,
              std::optional<AdjointJob>& job, std::optional<Borrowed>& partner,
              const Suggest& suggest) {
  Ending ending = kDone;
  if (cluster.rank() == 0) {
    if (!options.workers_given) options.job.runtime.workers = solver::default_workers();
    ending = run_adjoint(options, make, job, &partner.emplace(cluster, options, suggest));
  } else {
    lend(cluster, options, suggest);
  }
  ending.status = static_cast<ExitStatus>(cluster.largest(std::int64_t{ending.status}));
  return ending;
}

}  // namespace

Ending adjoint_on_cluster(AdjointOptions& options, MakeModel make,
                          const Suggest& suggest) {
  // Before the processes know each other, so that one of them says it.
  if (const int processes = Cluster::launched_processes(); processes != 2)
    throw Refused(
        fmt::format(
            "adjoint on {} processes: one, or two, of which the second lends its memory",
            processes),
        {.processes = 2});
  int argc = 0;
  char** argv = nullptr;
  Cluster cluster(argc, argv, identity(options));
  settle_memory(cluster, options.memory);
  std::optional<AdjointJob> job;
  std::optional<Borrowed> partner;
  try {
    return run_on(cluster, options, make, job, partner, suggest);
  } catch (...) {
    end_the_job(cluster, suggest);
  }
}

}  // namespace espalier::cli
