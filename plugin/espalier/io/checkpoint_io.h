#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include "espalier/model/checkpoint_schedule.h"

namespace espalier {

/// A time as a user writes it: a non-negative decimal number and an optional unit, ns,
/// us, ms or s; seconds without one: "5ms", "0.25", "3 us". Rounded to whole nanoseconds.
/// @throws InvalidInput for anything else, OverflowError beyond 2^62 ns
[[nodiscard]] Nanoseconds parse_duration(std::string_view text);

/// Reads a heterogeneous chain, one line a stage, in order:
///
///   # x      xbar    f    b    [ftmp [btmp]]
///   4MiB     9MiB    2ms  5ms  64KiB 64KiB
///   0        0       1us  1us
///   output 8
///
/// x is the size of what the stage reads, xbar of all that its backward needs beside that
/// (its output is in it), f and b what forward and backward take, ftmp and btmp their
/// workspaces. Sizes as parse_size(), times as parse_duration(). A last line "output
/// SIZE" is the size of what the last stage writes; without it 0, a loss. '#' starts a
/// comment, blank lines are skipped.
///
/// @throws FileError with the line for anything else; also for a file that cannot be read
///         or holds no stage
[[nodiscard]] Chain read_chain(const std::string& path);
[[nodiscard]] Chain read_chain(std::istream& in, const std::string& name);

/// Reads what steps take, one time a line in their order, as parse_duration() has it,
/// without a blank. '#' starts a comment, blank lines are skipped.
/// @throws FileError with the line for anything else; also for a file that cannot be read
///         or holds no step
[[nodiscard]] std::vector<Nanoseconds> read_step_times(const std::string& path);
[[nodiscard]] std::vector<Nanoseconds> read_step_times(std::istream& in,
                                                       const std::string& name);

/// Writes the actions, one a line: `action first last level slot`. Level and slot are
/// where a Forward stores x_first, or where a Copy or Move finds it; level -1: nowhere;
/// level -2: the tape of step `slot`. A Forward that keeps its tape ends in "tape".
/// Before them comment lines name the steps and the levels.
///
void write_schedule(std::ostream& out, const CheckpointSchedule& schedule);

}  // namespace espalier
