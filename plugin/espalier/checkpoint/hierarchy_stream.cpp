// The tables of H-Revolve -> actions.

#include <utility>

#include "espalier/checkpoint/h_revolve.h"
#include "espalier/checkpoint/part_stream.h"
#include "espalier/checkpoint/revolve.h"

namespace espalier {

namespace {

// States x_first … x_{first+l}, with m slots of the level. `stored`: x_first is in the
// first of them and is to be restored; else it is the working state.
struct HierarchyPart {
  std::int64_t first, l;
  std::int32_t level;
  std::int64_t m;
  bool stored;
};

}  // namespace

struct HierarchyStream::Impl final : PartStream<HierarchyPart> {
  using Part = HierarchyPart;

  Impl(std::shared_ptr<const HierarchyTables> of, std::int64_t steps, bool stored)
      : tables(std::move(of)) {
    const std::int32_t last = tables->count() - 1;
    push({0, steps - 1, last, slots(last), stored});
  }

  [[nodiscard]] std::int64_t slots(std::int32_t level) const {
    return tables->levels()[static_cast<std::size_t>(level)].slots;
  }

  // While a part of level 0 is being reversed its actions come first.
  std::optional<Action> next() override {
    if (memory) {
      while (const auto action = memory->next()) {
        if (action->kind == ActionKind::kEndForward && turn()) continue;
        if (action->kind != ActionKind::kEndReverse) return action;
      }
      memory.reset();
    }
    return PartStream::next();
  }

  Action take(const Part& part) override {
    return part.stored ? go_back(part) : go_on(part);
  }

  // The working state is x_first, and nothing of the part is stored.
  Action go_on(Part part) {
    if (part.l == 0) return reverse(part.first);
    while (true) {
      if (part.level == 0 && tables->free_memory()) {
        memory.emplace(RevolvePart{part.first, part.l + 1, part.m, false});
        return *next();
      }
      const std::int64_t j = tables->split(part.level, part.m, part.l, false);
      if (j > 0) return divide(part, j, {part.level, slots(part.level) - part.m});
      --part.level;
      part.m = slots(part.level);
    }
  }

  // x_first is in its slot, and what is right of the part has been reversed.
  Action go_back(const Part& part) {
    const Place slot{part.level, slots(part.level) - part.m};
    const std::int64_t j =
        part.l == 0 ? 0 : tables->split(part.level, part.m, part.l, true);
    if (j > 0) {
      then(divide(part, j, {}));
      return Action::copy(part.first, slot);
    }
    if (part.l == 0) {
      then(Action::reverse(part.first));
    } else {
      push({part.first, part.l, part.level - 1, slots(part.level - 1), false});
    }
    return Action::move(part.first, slot);
  }

  Action divide(const Part& part, std::int64_t j, Place store) {
    push({part.first, j - 1, part.level, part.m, true});
    Part right{part.first + j, part.l - j, part.level, part.m - 1, false};
    if (!tables->right_stays(part.level, part.stored)) {
      --right.level;
      right.m = slots(right.level);
    }
    push(right);
    return Action::forward(part.first, part.first + j, store);
  }

  std::shared_ptr<const HierarchyTables> tables;
  std::optional<RevolveStream> memory;  // the part of level 0 that is being reversed
};

HierarchyStream::HierarchyStream(std::shared_ptr<const HierarchyTables> tables)
    : impl_(std::make_unique<Impl>(tables, tables->steps(), false)) {}

HierarchyStream::HierarchyStream(std::shared_ptr<const HierarchyTables> tables,
                                 std::int64_t steps)
    : impl_(std::make_unique<Impl>(std::move(tables), steps, true)) {}

HierarchyStream::~HierarchyStream() = default;

std::optional<Action> HierarchyStream::next() { return impl_->next(); }

}  // namespace espalier
