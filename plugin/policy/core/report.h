#pragma once

// What one run did inside its bound, for people and for programs.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::policy {

/// From the start of the policy to its end, over all its workers. Plain values.
struct RunReport {
  /// Something that the policy saw and could not account for.
  struct Outside {
    std::string what;  ///< in the plural: "scratch buffers"
    std::int64_t count = 0;
    Bytes bytes = 0;  ///< 0: not known
  };
  /// Data that StarPU wrote to a disk, and read again.
  struct Spill {
    std::string directory;
    Bytes written = 0, read = 0;
    std::int64_t writes = 0, reads = 0;
  };

  std::string program;
  std::string policy_version;
  std::string starpu_version;
  std::optional<int> mpi_rank;

  bool stopped = false;  ///< the program, since the bound could not be kept

  std::optional<Bytes> bound;
  Bytes booked_peak = 0;
  Bytes over_bound_bytes = 0;           ///< largest excess of booked over the bound
  std::optional<Bytes> allocated_peak;  ///< nullopt: not measured
  std::int64_t overruns = 0;            ///< times that more was allocated than booked
  Bytes overrun_bytes = 0;              ///< largest excess of allocated over booked
  std::int64_t unsafe_admissions = 0;   ///< tasks let in without proof that all can end
  /// Would have sufficed, in order of submission; for a program that was stopped, as far
  /// as it came. nullopt: not known
  std::optional<Bytes> least_bytes;
  std::int64_t application_data = 0;  ///< data of tasks in the application's own memory
  Bytes application_bytes = 0;        ///< their sum: not counted in anything else here
  std::optional<Spill> spill;         ///< where there is a disk
  std::vector<Outside> outside;
  std::optional<Bytes> vm_rss_at_start;  ///< resident in the process, in all
  std::optional<Bytes> vm_hwm;           ///< peak of that over the life of the process

  std::int64_t tasks = 0;         ///< executed
  std::int64_t gated_tasks = 0;   ///< of these, those that needed memory
  std::int64_t held_tasks = 0;    ///< of these, those that waited at the gate
  Seconds held_seconds = 0;       ///< their waiting, summed over tasks
  Seconds throttled_seconds = 0;  ///< that submission waited, summed over threads
  std::int64_t late_frees = 0;    ///< blocks whose thread did not say that they are gone
  Seconds longest_gap_seconds = 0;  ///< in which there were tasks and none was executed
  std::int64_t received_messages = 0;  ///< by StarPU-MPI, as far as it was seen
  Bytes received_bytes = 0;
  std::int64_t jobs = 0;  ///< declared trees
  std::int64_t workers = 0;
  Seconds elapsed_seconds = 0;
  Seconds busy_seconds = 0;  ///< summed over workers
  Seconds idle_seconds = 0;  ///< summed over workers
};

/// Whether the bound was kept, by what was booked and by what was measured if it was;
/// nullopt when there was no bound.
[[nodiscard]] std::optional<bool> bound_kept(const RunReport& report);

/// Lines for people, at most 25. The first says whether the bound was kept.
[[nodiscard]] std::string to_text(const RunReport& report);

/// One JSON object: bytes and seconds as numbers, null for what is not known.
[[nodiscard]] std::string to_json(const RunReport& report);

/// To standard error if `destination` is "-", to nowhere if it is empty, else to that
/// file, replacing it: JSON if its name ends in ".json". When that fails, standard error
/// gets the reason and the text.
void write_report(const RunReport& report, const std::string& destination) noexcept;

}  // namespace espalier::policy
