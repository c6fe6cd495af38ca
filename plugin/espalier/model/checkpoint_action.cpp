#include "espalier/model/checkpoint_action.h"

namespace espalier {

std::string_view name(ActionKind kind) {
  switch (kind) {
    case ActionKind::kForward:
      return "Forward";
    case ActionKind::kReverse:
      return "Reverse";
    case ActionKind::kCopy:
      return "Copy";
    case ActionKind::kMove:
      return "Move";
    case ActionKind::kEndForward:
      return "EndForward";
    case ActionKind::kEndReverse:
      break;
  }
  return "EndReverse";
}

}  // namespace espalier
