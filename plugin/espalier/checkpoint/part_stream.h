#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "espalier/model/checkpoint_action.h"

namespace espalier {

/// A sweep by an explicit stack of parts of the chain that are still to be reversed, the
/// rightmost on top: what such streams have in common, whatever their parts say.
///
/// @par Test  Rotor.*, HRevolve.*, PlanCheckpoints.*: every schedule passes validate()
template <class Part>
class PartStream : public ActionStream {
 public:
  [[nodiscard]] std::optional<Action> next() override {
    if (waiting_) return *std::exchange(waiting_, std::nullopt);
    if (parts_.empty()) {
      if (std::exchange(ended_, true)) return std::nullopt;
      return Action::end_reverse();
    }
    const Part part = parts_.back();
    parts_.pop_back();
    return take(part);
  }

 protected:
  /// Leaves what is left of the part on the stack, and its second action with then().
  [[nodiscard]] virtual Action take(const Part& part) = 0;

  void push(const Part& part) { parts_.push_back(part); }
  void then(const Action& action) { waiting_ = action; }

  /// Whether the first sweep was over before; it is from now on.
  [[nodiscard]] bool turn() { return std::exchange(turned_, true); }

  /// A backward step from the working state; before the first of them the sweep turns.
  [[nodiscard]] Action reverse(std::int64_t step) {
    if (turn()) return Action::reverse(step);
    waiting_ = Action::reverse(step);
    return Action::end_forward(step);
  }

 private:
  std::vector<Part> parts_;
  std::optional<Action> waiting_;
  bool turned_ = false, ended_ = false;
};

}  // namespace espalier
