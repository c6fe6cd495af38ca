#include "cli/job/launch.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "espalier/model/error.h"

namespace espalier::cli {
namespace {

template <class T>
bool parse(std::string_view text, T& value) {
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && last == end;
}

// Of the first of the variables that is set.
std::int32_t number_in(std::initializer_list<const char*> names, std::int32_t otherwise) {
  for (const char* const name : names) {
    const char* const text = std::getenv(name);
    std::int32_t value = 0;
    if (text != nullptr && parse(text, value) && value >= 0) return value;
  }
  return otherwise;
}

// In a batch script of Slurm these are set, too, but no rank.
std::int32_t processes_of_slurm() {
  if (std::getenv("PMIX_RANK") == nullptr && std::getenv("PMI_RANK") == nullptr) return 0;
  return number_in({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, 0);
}

}  // namespace

Launch launch() {
  const std::int32_t processes =
      number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, processes_of_slurm());
  if (processes < 1) return {};
  return {
      processes,
      number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"}, 0),
      number_in({"OMPI_COMM_WORLD_LOCAL_RANK", "MPI_LOCALRANKID", "SLURM_LOCALID"}, 0)};
}

void set_launch_defaults() { setenv("OMPI_MCA_mpi_yield_when_idle", "1", 0); }

double cluster_timeout() {
  const char* const text = std::getenv("ESPALIER_CLUSTER_TIMEOUT");
  if (text == nullptr || *text == '\0') return 10;
  double seconds = 0;
  if (!parse(text, seconds) || !(seconds >= 1 && seconds <= 86400))
    throw InvalidInput(fmt::format(
        "ESPALIER_CLUSTER_TIMEOUT='{}': a number of seconds from 1 to 86400", text));
  return seconds;
}

}  // namespace espalier::cli
