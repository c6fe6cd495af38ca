#pragma once

#include <string>
#include <vector>

#include "solver_table.h"

namespace espalier::bench {

/// What the ways of a cluster case are made for.
struct ClusterCounts {
  std::vector<int> processes;       ///< of ours
  std::vector<std::string> memory;  ///< as espalier's --memory takes it
  std::vector<int> peer_processes;  ///< of MUMPS
};

/// Ours for every number of processes and every bound, with one worker a process, then
/// MUMPS, all with the product's METIS ordering of the same matrix.
///
/// @param system its `workers` is not used
[[nodiscard]] std::vector<Series> cluster_ways(const System& system,
                                               const ClusterCounts& counts);

[[nodiscard]] Row cluster_header();
/// A row for each of our ways. MUMPS's columns are of as many processes, and empty where
/// it was not run with so many or its solution is useless.
///
/// e(P) = g_1 / (P g_P), where g_P is the growth of the resident set while factorising,
/// of the process of P that grows most, with the same bound: 1 where the memory of one
/// process is divided evenly. Empty without a run of one process.
[[nodiscard]] std::vector<Row> cluster_rows(const Case& c, const ClusterCounts& counts);

void print_cluster_row(const Row& row);
/// Lines of rows as Markdown; the first row is the header.
[[nodiscard]] std::string cluster_markdown(const std::vector<Row>& rows);

}  // namespace espalier::bench
