#include "cli/job/launcher_daemon.h"

#include <fcntl.h>
#include <spawn.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <string>

namespace espalier::cli {
namespace {

// $1 is the daemon. Its name is looked at each time: the number may pass to another.
constexpr const char* kScript = R"(
there() {
  case $(cat "/proc/$1/comm" 2>/dev/null) in
    mpirun | mpiexec | orterun | orted | prterun | prted) ;;
    *) exit 0 ;;
  esac
}
wait_for() {
  tenth=0
  while [ $tenth -lt 50 ]; do there "$1"; sleep 0.1; tenth=$((tenth + 1)); done
}
wait_for "$1"
kill -TERM "$1"
wait_for "$1"
kill -KILL "$1"
)";

}  // namespace

// Not by fork(): the copy would hold on to the memory of this process.
void end_launcher_daemon(const Launch& launch) {
  if (launch.local_rank != 0) return;
  std::string daemon = std::to_string(getppid());
  std::string shell = "sh", option = "-c", script = kScript;
  const std::array<char*, 6> arguments = {shell.data(), option.data(), script.data(),
                                          shell.data(), daemon.data(), nullptr};
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  // The launcher waits for the end of what it reads from its children.
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDWR, 0);
  posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDOUT_FILENO);
  posix_spawn_file_actions_adddup2(&files, STDIN_FILENO, STDERR_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&files, STDERR_FILENO + 1);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSID | POSIX_SPAWN_SETSIGMASK);
  pid_t process = 0;
  posix_spawn(&process, "/bin/sh", &files, &attributes, arguments.data(), environ);
}

}  // namespace espalier::cli
