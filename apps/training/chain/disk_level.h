#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>

#include "solver/spill_file.h"
#include "training/chain/chain.h"

namespace espalier::training {

/// Slots for states in an unnamed file whose space is reserved.
///
/// store() and load() return at once. A part of a state is written when the tasks
/// submitted before have left it as it is to be, and tasks submitted later that would
/// change it wait until it is written; likewise it is read when those before are done
/// with the buffer, and those after wait until it is there. No worker waits: the file's
/// own thread does it. On one slot, stores and loads happen in the order of the calls.
class DiskLevel {
 public:
  /// @throws FileError as SpillFile
  DiskLevel(const std::string& directory, const Chain& chain, std::int64_t slots,
            FirstError& errors);
  DiskLevel(const DiskLevel&) = delete;
  DiskLevel& operator=(const DiskLevel&) = delete;
  ~DiskLevel();

  void store(std::int64_t slot, const StateBuffer& from);
  void load(std::int64_t slot, const StateBuffer& to);

  /// Returns when everything asked for has been done or given up.
  void wait();
  [[nodiscard]] solver::SpillFile::Counters counters() const { return file_.counters(); }

 private:
  // One part of a store or a load: it has to wait for its buffer, and for what was asked
  // before on the same part of the same slot.
  struct Transfer {
    DiskLevel* level;
    starpu_data_handle_t handle;
    std::byte* data;
    Bytes offset, bytes;
    bool loads;
    bool acquired = false;
  };

  void ask(std::int64_t slot, const StateBuffer& buffer, bool loads);
  static void acquired(void* transfer) noexcept;
  void begin_acquired(Bytes offset) noexcept;
  [[nodiscard]] bool begin(const Transfer& transfer) noexcept;
  // A buffer is given back to the tasks, its transfer done or given up.
  void end(starpu_data_handle_t handle) noexcept;

  FirstError& errors_;
  std::vector<Bytes> parts_;
  Bytes state_bytes_;
  std::mutex mutex_;
  std::condition_variable done_;
  std::map<Bytes, std::deque<std::unique_ptr<Transfer>>> asked_;  // by offset in the file
  std::int64_t pending_ = 0;
  solver::SpillFile file_;  // its thread uses what is above
};

}  // namespace espalier::training
