// espalier train on the processes of a job that mpirun or srun started.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <optional>
#include <sstream>
#include <string>

#include "cli/end_the_job.h"
#include "cli/job/cluster.h"
#include "cli/settle_memory.h"
#include "cli/train_input.h"
#include "cli/train_parallel.h"
#include "espalier/io/pipeline_file.h"
#include "espalier/model/error.h"
#include "solver/distributed/starpu_mpi_channel.h"
#include "training/pipeline/exchange.h"

namespace espalier::cli {
namespace {

// What they say, wherever a process has them; a file that cannot be read is refused where
// its times are needed.
std::string stage_times(const TrainCommand& command) {
  if (command.stage_times.empty()) return {};
  try {
    std::ostringstream text;
    write_pipeline_file(text, read_pipeline_file(command.stage_times));
    std::string line = text.str();  // what differs is named by its line
    std::erase_if(line, [](char c) { return c == '\n' || c == ' '; });
    return line;
  } catch (const Error&) {
    return command.stage_times;
  }
}

// What must be the same at all processes.
std::string identity(const TrainCommand& command) {
  return fmt::format(
      "version={}\nmodel={}\nbatch={}\ndim={}\ntraining={}\nrate={}\nsteps={}\nseed={}\n"
      "memory={} {} {}\ndata={}\nmicro-batches={}\npipeline={}\nschedule={}\nzero={}\n"
      "tensor={}\nstage-times={}",
      ESPALIER_VERSION, network_title(command), command.source.batch.value_or(-1),
      fmt::join(command.source.dimensions, " "), name(command.optimiser),
      command.job.update.rate, command.job.steps, command.job.seed,
      static_cast<int>(command.memory.kind), command.memory.common_size(),
      command.memory.factor, command.data, command.micro_batches,
      command.stages.value_or(-1), describe(command.form), static_cast<int>(command.zero),
      command.tensor, stage_times(command));
}

Ending run_on(Cluster& cluster, TrainCommand& command, const Suggest& suggest) {
  choose_threads(command);  // the processes have divided the cores
  settle_memory(cluster, command.memory);
  check(command);
  const solver::Runtime runtime(command.job.runtime);
  const solver::Awake awake(runtime);
  solver::StarpuMpiChannel channel(cluster.data_communicator(),
                                   [&] { end_the_job(cluster, suggest); });
  training::Exchange exchange(channel);
  TrainingPeers peers{
      .rank = cluster.rank(),
      .size = cluster.size(),
      .gather_all = [&cluster](std::int64_t value) { return cluster.gather_all(value); },
      .messages = &exchange,
      .reserve = kMessagesReserve};
  try {
    Ending ending = train_shared(command, peers);
    ending.status = static_cast<ExitStatus>(cluster.largest(std::int64_t{ending.status}));
    return ending;
  } catch (...) {  // before the channel waits for the others to end theirs
    end_the_job(cluster, suggest);
  }
}

}  // namespace

Ending train_on_cluster(TrainCommand& command, const Suggest& suggest) {
  int argc = 0;
  char** argv = nullptr;
  Cluster cluster(argc, argv, identity(command));
  try {
    return run_on(cluster, command, suggest);
  } catch (...) {
    end_the_job(cluster, suggest);
  }
}

}  // namespace espalier::cli
