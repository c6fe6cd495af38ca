#pragma once

#include <string>
#include <utility>

#include "solver/memory/spill_file.h"
#include "training/chain/slot_store.h"

namespace espalier::training {

/// Slots in an unnamed file whose space is reserved.
class DiskStore final : public SlotStore {
 public:
  /// @throws FileError as SpillFile
  DiskStore(const std::string& directory, Bytes bytes) : file_(directory, bytes) {}

  void write(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override {
    file_.write(offset, data, std::move(done));
  }
  void fetch(Bytes offset, std::span<std::byte> data,
             std::function<void()> done) override {
    file_.fetch(offset, data, std::move(done));
  }
  void check() override {
    if (file_.failed()) file_.read(0, {});  // throws what failed
  }
  [[nodiscard]] solver::SpillFile::Counters counters() const { return file_.counters(); }

 private:
  solver::SpillFile file_;
};

}  // namespace espalier::training
