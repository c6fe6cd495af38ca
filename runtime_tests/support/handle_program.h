#pragma once

// Small seeded random programs of tasks that work on data, as an application submits
// them.

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "espalier/model/units.h"

namespace espalier::support {

/// Data 0 … sizes.size()-1; steps in order of submission.
struct HandleProgram {
  struct Step {
    bool release = false;     ///< of reads[0]: unregister or invalidate; else a task
    std::vector<int> reads;   ///< data that exist by now
    std::vector<int> writes;  ///< read and written; allocated when they do not exist yet
  };
  std::vector<Bytes> sizes;
  std::vector<Step> steps;

  [[nodiscard]] std::string text() const {
    std::string text = fmt::format("sizes {}\n", fmt::join(sizes, " "));
    for (const Step& s : steps)
      text += s.release ? fmt::format("release {}\n", s.reads[0])
                        : fmt::format("task reads {} writes {}\n",
                                      fmt::join(s.reads, " "), fmt::join(s.writes, " "));
    return text;
  }
};

struct HandleProgramOptions {
  int data = 6, tasks = 10;
  Bytes largest_size = 9;
  bool reuses = false;         ///< data that were released are written again
  bool releases_late = false;  ///< many releases come only after all tasks
};

/// Every task reads and writes distinct data; every datum read exists. Some data are
/// never released.
inline HandleProgram random_handle_program(std::mt19937& random,
                                           const HandleProgramOptions& options) {
  const auto draw = [&random](int last) {
    return std::uniform_int_distribution<int>(0, last)(random);
  };
  HandleProgram program;
  for (int d = 0; d < options.data; ++d)
    program.sizes.push_back(
        std::uniform_int_distribution<Bytes>(0, options.largest_size)(random));
  std::vector<int> exist, unborn;
  for (int d = 0; d < options.data; ++d) unborn.push_back(d);
  const auto take = [&](std::vector<int>& from) {
    const auto i = static_cast<std::size_t>(draw(static_cast<int>(from.size()) - 1));
    const int datum = from[i];
    from.erase(from.begin() + static_cast<std::ptrdiff_t>(i));
    return datum;
  };
  const auto release = [&] {
    const int datum = take(exist);
    program.steps.push_back({true, {datum}, {}});
    if (options.reuses) unborn.push_back(datum);
  };
  for (int t = 0; t < options.tasks; ++t) {
    HandleProgram::Step step;
    std::vector<int> left = exist;
    for (int reads = draw(2); reads > 0 && !left.empty(); --reads)
      step.reads.push_back(take(left));
    if (!left.empty() && draw(3) == 0) step.writes.push_back(take(left));
    for (int born = draw(1) + (exist.empty() ? 1 : 0); born > 0 && !unborn.empty();
         --born)
      step.writes.push_back(take(unborn));
    for (const int datum : step.writes)
      if (std::find(exist.begin(), exist.end(), datum) == exist.end())
        exist.push_back(datum);
    if (!step.reads.empty() || !step.writes.empty()) program.steps.push_back(step);
    while (!options.releases_late && !exist.empty() && draw(2) == 0) release();
  }
  while (!exist.empty() && draw(4) != 0) release();
  return program;
}

/// Most bytes in memory when the tasks run one by one in order of submission and each
/// datum is freed right after its last task, if it is released.
inline Bytes sequential_peak(const HandleProgram& program) {
  const std::size_t n = program.steps.size();
  std::vector<Bytes> alloc(n, 0), freed(n, 0);
  std::vector<bool> exists(program.sizes.size(), false);
  std::vector<std::size_t> last(program.sizes.size(), 0);
  for (std::size_t i = 0; i < n; ++i) {
    const HandleProgram::Step& step = program.steps[i];
    if (step.release) {
      const auto d = static_cast<std::size_t>(step.reads[0]);
      freed[last[d]] += program.sizes[d];
      exists[d] = false;
      continue;
    }
    for (const auto* const list : {&step.reads, &step.writes})
      for (const int datum : *list) {
        const auto d = static_cast<std::size_t>(datum);
        if (!exists[d]) alloc[i] += program.sizes[d];
        exists[d] = true;
        last[d] = i;
      }
  }
  Bytes memory = 0, peak = 0;
  for (std::size_t i = 0; i < n; ++i) {
    peak = std::max(peak, memory + alloc[i]);
    memory += alloc[i] - freed[i];
  }
  return peak;
}

}  // namespace espalier::support
