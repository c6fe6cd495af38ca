#pragma once

#include <string>
#include <vector>

#include "solver_table.h"

namespace espalier::bench {

/// Draws factor time and peak memory of each way over those of the better peer, by
/// gnuplot with solver_bench.gp. The figures stay beside the picture, as FILE.dat.
/// @param file  *.svg or *.png
/// @throws std::runtime_error when gnuplot is not there or fails
void draw(const std::vector<Case>& cases, const std::string& file);

/// Runs a gnuplot script of this folder: the arguments are ARG1, ARG2 … in it.
void run_gnuplot(const std::string& script, const std::vector<std::string>& arguments);

}  // namespace espalier::bench
