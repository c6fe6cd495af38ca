#include "espalier/model/checkpoint_schedule.h"

#include <fmt/format.h>

#include "espalier/model/error.h"

namespace espalier {

std::string_view name(CheckpointProof proof) {
  switch (proof) {
    case CheckpointProof::kOptimal:
      return "optimal";
    case CheckpointProof::kOptimalPersistent:
      return "optimal among persistent schedules";
    case CheckpointProof::kOptimalReadOnce:
      return "optimal among schedules that read each state of the last level once";
    case CheckpointProof::kBestFound:
      break;
  }
  return "best found";
}

std::unique_ptr<ActionStream> no_actions() {
  throw InvalidInput(
      "the schedule has no actions: plan_checkpoints(), plan_online() and plan_chain() "
      "give schedules that have");
}

std::string TooFewSlots::message() const {
  return fmt::format("{} slots are too few to reverse the chain; {} suffice{}", slots,
                     least_slots, least_slots == 1 ? "s" : "");
}

}  // namespace espalier
