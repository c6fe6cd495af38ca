#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/checkpoint_action.h"

namespace espalier::support {

/// Actions one after the other, whatever they are.
class ListedActions final : public ActionStream {
 public:
  explicit ListedActions(std::vector<Action> actions) : actions_(std::move(actions)) {}
  [[nodiscard]] std::optional<Action> next() override {
    if (next_ == actions_.size()) return std::nullopt;
    return actions_[next_++];
  }

 private:
  std::vector<Action> actions_;
  std::size_t next_ = 0;
};

}  // namespace espalier::support
