#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "solver_runs.h"

namespace espalier::bench {

/// A peer's solution with a larger backward error is none.
inline constexpr double kUselessError = 1e-10;

/// All ways on one system.
struct Case {
  std::string name;  ///< of the matrix
  std::string kind;
  std::int64_t size = 0, entries = 0;  ///< entries stored: one triangle where symmetric
  double dgemm_rate = 0;               ///< flops a second, measured beside the runs
  std::vector<Series> series;

  /// A system that is to be solved in these ways, with what our own program says of it.
  Case(const System& system, const nlohmann::json& facts, std::vector<Series> ways);
  /// Every way so many times, in turns.
  void run(int repeat, int timeout_seconds);

  /// Work of the factorisation as the product counts it, else as a peer does; 0: none
  /// solved. The rates of all ways are for this count.
  [[nodiscard]] double flops() const;
  /// The least of the peers that solved it with a backward error of at most
  /// kUselessError; the two may be of different peers.
  [[nodiscard]] std::optional<double> best_peer_seconds() const;
  [[nodiscard]] std::optional<double> best_peer_bytes() const;
  /// Ours solved it, kept every bound, with a small backward error.
  [[nodiscard]] bool good() const;
};

/// Largest componentwise backward error that passes: 1e-14 for a Cholesky factorisation,
/// 1e-12 where pivots are chosen for size only within a threshold.
[[nodiscard]] double error_limit(const std::string& kind);

using Row = std::vector<std::string>;

[[nodiscard]] Row table_header();
/// A row for each way; the columns of the system are empty but in the first.
[[nodiscard]] std::vector<Row> table_rows(const Case& c);

void print_row(const Row& row);
/// A whole table with its header, in Markdown.
[[nodiscard]] std::string markdown(const std::vector<Case>& cases);

[[nodiscard]] nlohmann::json to_json(const Case& c);

}  // namespace espalier::bench
