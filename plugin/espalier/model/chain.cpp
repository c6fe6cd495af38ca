#include "espalier/model/chain.h"

#include <fmt/format.h>

#include <utility>

#include "espalier/model/error.h"

namespace espalier {

void check_stage(const Stage& stage, std::int64_t number, Bytes output) {
  for (const std::int64_t value :
       {stage.input, stage.saved, stage.forward, stage.backward, stage.forward_workspace,
        stage.backward_workspace}) {
    if (value < 0)
      throw InvalidInput(fmt::format("stage {} has {} of something", number, value));
  }
  if (stage.saved < output) {
    throw InvalidInput(fmt::format("stage {} saves {} bytes, less than its output of {}",
                                   number, stage.saved, output));
  }
}

Chain::Chain(std::vector<Stage> stages, Bytes output)
    : stages_(std::move(stages)), output_(output) {
  if (stages_.empty()) throw InvalidInput("a chain needs a stage");
  if (output < 0) throw InvalidInput(fmt::format("the output has {} bytes", output));
  Bytes bytes = checked_mul(output, 2);
  Nanoseconds cost = 0;
  for (std::int64_t i = 0; i < size(); ++i) {
    const Stage& s = stage(i);
    check_stage(s, i, state(i + 1));
    try {
      for (const Bytes size :
           {s.input, s.saved, s.forward_workspace, s.backward_workspace})
        bytes = checked_add(bytes, checked_mul(size, 2));
      cost = checked_add(cost, checked_mul(checked_add(s.forward, s.backward), 2));
    } catch (const OverflowError& error) {
      throw OverflowError(fmt::format("stage {}: {}", i, error.what()));
    }
  }
}

}  // namespace espalier
