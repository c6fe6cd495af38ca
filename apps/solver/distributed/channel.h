#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "espalier/model/units.h"
#include "espalier/solver/results.h"

namespace espalier::solver {

/// What a process asks another one for: data of a shared node, bytes of a slot that it
/// lends (training/remote/partner.h), or a tensor (training/pipeline/exchange.h). Whoever
/// asks has taken memory for the answer first, and posted its receives, so that no
/// message comes unexpected and nothing is received that was not booked.
struct DataRequest {
  enum class Kind : std::int32_t {
    kPanel,
    kPiece,
    kStop,
    kBye,
    kStore,
    kStored,
    kLoad,
    kState,
    kTensor,
    kDelays,
    kSlots,
    kTail,
    // Of a panel whose rows several processes have (SharedFront):
    kTrial,
    kVerdict,
    kRest,
    kRetried,
    kTailRows
  };
  std::int64_t tag = 0;      ///< of the answer, the first of its parts; the others follow
  std::int32_t channel = 0;  ///< number of the channel among those of a process: its own
  Kind kind = Kind::kPanel;
  std::int32_t node = 0;
  std::int32_t block = 0;  ///< kPiece: of the parent; others: of the panel
  std::int32_t strip = 0;  ///< kPanel: of it; kPiece: of the child
  /// kPiece: FrontPiece; kDelays: number of the child, first 0: how many, 1: all of them;
  /// kPanel: first 1: with its notes; kVerdict: first columns that the rows there bear.
  std::int32_t child = 0, first = 0, last = 0;
  Bytes offset = 0, bytes = 0;  ///< of slots; kTensor: number of the message, and bytes
};

/// Messages between the tasks of processes: small requests that are always accepted, and
/// data sent where a receive waits for it. Calls are safe from any thread and return at
/// once; what they are given to call must be short.
class Channel {
 public:
  using Handler = std::function<void(std::int32_t from, const DataRequest& request)>;
  using Parts = std::vector<std::span<std::byte>>;
  using Counters = MessageCounters;

  Channel() = default;
  virtual ~Channel() = default;
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  /// Who answers requests from now on. Empty: they wait for the next one.
  virtual void serve_with(Handler handler) = 0;

  /// Posts receives of all parts from a process, then asks it for them. The parts' memory
  /// stays until `done` is called. One part at least has bytes; those of none are left
  /// out, here and by answer().
  virtual void fetch(std::int32_t from, DataRequest request, const Parts& parts,
                     std::function<void()> done) = 0;
  /// Answers a request, with parts of the same sizes.
  virtual void answer(std::int32_t to, const DataRequest& request, const Parts& parts,
                      std::function<void()> done) = 0;
  /// A request without an answer, to every other process.
  virtual void tell_all(const DataRequest& request) = 0;

  [[nodiscard]] virtual Counters sent() const = 0;

  /// Number of a piece of work that all processes begin over this channel, and the same
  /// number everywhere: what is told of one may come when the next has begun.
  [[nodiscard]] std::int32_t begin_work() { return ++works_; }

 private:
  std::int32_t works_ = 0;
};

}  // namespace espalier::solver
