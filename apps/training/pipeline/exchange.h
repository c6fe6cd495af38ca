#pragma once

#include <map>
#include <mutex>
#include <set>
#include <vector>

#include "solver/distributed/channel.h"
#include "training/step/messages.h"

namespace espalier::training {

/// Messages over StarPU-MPI. Who receives asks, when the receive into planned memory has
/// been posted, and who sends answers, when it has something to send: nothing comes
/// unexpected, so nothing is received outside the arena.
class Exchange final : public Messages {
 public:
  /// @param channel  between the processes of the job; outlives this
  explicit Exchange(solver::Channel& channel);
  ~Exchange() override;

  void pass(const Message& message, std::span<std::byte> bytes,
            std::function<void()> done) override;

 private:
  struct Offer {
    std::span<std::byte> bytes;
    std::function<void()> done;
  };
  struct Waiting {
    std::int32_t process = 0;
    solver::DataRequest request;
  };
  void serve(std::int32_t from, const solver::DataRequest& request);
  void send(const Waiting& to, const Offer& offer);

  solver::Channel& channel_;
  std::mutex mutex_;                         // of what follows
  std::map<std::int64_t, Offer> offers_;     // by message: nobody has asked yet
  std::map<std::int64_t, Waiting> waiting_;  // asked for, and not there yet
};

}  // namespace espalier::training
