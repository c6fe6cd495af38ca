#pragma once

#include <cstdint>
#include <memory>

#include "espalier/checkpoint/part_stream.h"
#include "espalier/checkpoint/rotor.h"

namespace espalier {

/// Stages first … last in so many bytes. `held`: where x_first is, beside being the
/// working state; kWorking: nowhere. `restore`: it is not the working state. `tape_only`:
/// the stages have been done but the reverse of `first` with its tape.
struct RotorPart {
  std::int64_t first, last;
  Bytes bytes;
  Place held;
  bool restore = false, tape_only = false;
};

/// The actions of the best persistent schedule of a chain inside a budget, by an explicit
/// stack. A state is stored in a slot of level 0, unless the tape of the step before
/// holds it, when the sweep goes on from it; slots are numbered like a stack.
///
/// @par Cost  O(L log S) an action
class RotorStream final : public PartStream<RotorPart> {
 public:
  /// @pre the table has a schedule in `bytes`, x_0 counted
  RotorStream(std::shared_ptr<const RotorTable> table, Bytes bytes);

 private:
  [[nodiscard]] Action take(const RotorPart& part) override;
  [[nodiscard]] Action divide(RotorPart part);
  [[nodiscard]] Action reverse_held(std::int64_t step, const Place& held);

  std::shared_ptr<const RotorTable> table_;
  std::int64_t slots_ = 0;  // in use
};

}  // namespace espalier
