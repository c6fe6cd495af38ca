#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace espalier::bench {

/// One way to solve one system: a command that prints JSON.
struct Way {
  std::string name;   ///< as --peers takes it; "espalier" and "espalier-min" are ours
  std::string label;  ///< as tables show it
  std::string command;

  [[nodiscard]] bool ours() const { return name.starts_with("espalier"); }
};

/// The runs of one way. After a failure it is not run again.
struct Series {
  Way way;
  std::vector<nlohmann::json> runs;
  std::string
      failure;  ///< a table's cell: "-9", "not SPD", "timeout", "failed"; or empty

  void run_again(int timeout_seconds);
  [[nodiscard]] bool solved() const { return failure.empty() && !runs.empty(); }
  /// Of all runs; the series must be solved. The key must be in every run.
  [[nodiscard]] double median(const char* key) const;
  [[nodiscard]] double median(
      const std::function<double(const nlohmann::json&)>& value) const;
  [[nodiscard]] double largest(const char* key) const;
  /// Median growth of the resident set while factorising, all processes together.
  [[nodiscard]] double peak_bytes() const;
  /// False when one run went beyond the bound that it was given.
  [[nodiscard]] bool bound_kept() const;
};

/// What a series is made for.
struct System {
  std::string input;  ///< file or grid:NXxNYxNZ
  std::string kind;   ///< spd, symmetric, general
  int workers = 2;
  std::string program = {};  ///< espalier itself; empty: the one beside this program
};

/// The folder of this program, where the others are.
[[nodiscard]] std::string program_folder();
[[nodiscard]] std::string quoted(const std::string& text);

/// Makes all programs that are run from here on take the same kernels of OpenBLAS: those
/// that the user has chosen, else those that espalier takes. @return their name
std::string choose_blas_kernel();

/// `espalier solve` with more options, such as "--memory min".
[[nodiscard]] std::string our_command(const System& system, const std::string& options);
/// A peer program with more options; OpenMP's threads asleep, as they would spin against
/// those of the BLAS.
[[nodiscard]] std::string peer_command(const std::string& program, const System& system,
                                       const std::string& options = "");

/// mpirun with its environment for so many processes on this machine, whoever starts
/// them: more than cores if need be, none that keeps a core while it waits, one BLAS
/// thread each.
[[nodiscard]] std::string mpi_command(int processes);

/// Names of all peers.
[[nodiscard]] std::vector<std::string> all_peers();
/// The peer, or nothing where it was not built or does not factor that kind.
[[nodiscard]] std::optional<Way> peer(const std::string& name, const System& system);

/// The library first, then the peers that there are; with the allocator as it is by
/// default, and 25 times what takes less than a millisecond.
[[nodiscard]] std::vector<Series> beside_peers(const System& system,
                                               const std::vector<std::string>& peers);

/// How often each of several series runs.
struct Turns {
  static constexpr int kMost = 99;  ///< runs that are made for `seconds`

  int least = 3;              ///< runs of each
  int seconds = 0;            ///< more of them until so many have passed
  int timeout_seconds = 600;  ///< of one run
};
/// One run of each after the other, again and again; each turn begins with the next of
/// them, since what a run costs depends on the memory that the one before has left.
void run_in_turns(std::vector<Series>& series, const Turns& turns);

/// A backward error above this counts for none.
inline constexpr double kUseless = 1e-10;
[[nodiscard]] bool useful(const Series& series);

/// By the names of ways: failure and runs.
[[nodiscard]] nlohmann::json to_json(const std::vector<Series>& series);

/// How a command ended.
struct Ended {
  int code = 0;            ///< exit status; 128 and the signal where one ended it
  nlohmann::json printed;  ///< discarded where it is no JSON

  /// timeout(1) ends with 124; with 137 when it had to kill.
  [[nodiscard]] bool timed_out() const { return code == 124 || code == 137; }
};
[[nodiscard]] Ended run_limited(const std::string& command, int timeout_seconds);

/// What the command prints, or nothing and why.
struct Outcome {
  std::optional<nlohmann::json> json;
  std::string failure;
};
[[nodiscard]] Outcome run_command(const std::string& command, int timeout_seconds);

}  // namespace espalier::bench
