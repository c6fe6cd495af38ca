#pragma once

#include "cli/job/launch.h"

namespace espalier::cli {

/// Leaves a small process behind that gives the launcher's daemon on this host, if that
/// started this process, five seconds to end, and then ends it.
///
/// For a job that lost a host: the mpirun of Open MPI waits for a daemon that it cannot
/// reach for as long as the system goes on to send to it, a quarter of an hour, and so
/// does the daemon on the lost host. Nothing is done to other parents (srun, a shell),
/// and by one process of each host only.
void end_launcher_daemon(const Launch& launch);

}  // namespace espalier::cli
