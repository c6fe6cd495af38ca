#include "espalier/model/chain.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/model/error.h"

namespace espalier {

Chain::Chain(std::vector<Stage> stages, Bytes output)
    : stages_(std::move(stages)), output_(output) {
  if (stages_.empty()) throw InvalidInput("a chain needs a stage");
  if (output < 0) throw InvalidInput(fmt::format("the output has {} bytes", output));
  Bytes bytes = checked_mul(output, 2);
  Nanoseconds cost = 0;
  for (std::int64_t i = 0; i < size(); ++i) {
    const Stage& s = stage(i);
    for (const std::int64_t value : {s.input, s.saved, s.forward, s.backward,
                                     s.forward_workspace, s.backward_workspace}) {
      if (value < 0)
        throw InvalidInput(fmt::format("stage {} has {} of something", i, value));
    }
    if (s.saved < state(i + 1)) {
      throw InvalidInput(
          fmt::format("stage {} saves {} bytes, less than its output of {}", i, s.saved,
                      state(i + 1)));
    }
    for (const Bytes size : {s.input, s.saved, s.forward_workspace, s.backward_workspace})
      bytes = checked_add(bytes, checked_mul(size, 2));
    cost = checked_add(cost, checked_mul(checked_add(s.forward, s.backward), 2));
  }
}

}  // namespace espalier
