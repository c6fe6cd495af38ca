#pragma once

#include <functional>
#include <memory>

#include "solver/distributed/channel.h"

namespace espalier::solver {

/// A channel over StarPU-MPI, whose thread calls what is given to be called.
///
/// StarPU-MPI is there once in a process. It starts with the first channel and ends with
/// the last one; each channel has a number, which goes with every request. All channels
/// are between the same processes, and every process makes and ends them in the same
/// order; their messages may go at the same time.
///
/// The runtime must be awake while messages are under way.
class StarpuMpiChannel final : public Channel {
 public:
  /// Collective. @param communicator  a MPI_Comm, of which StarPU-MPI gets a copy
  /// @param failed  called in a catch block when a handler or what is called when parts
  ///                have passed throws: nothing may pass through StarPU-MPI. Without it
  ///                the program is terminated then
  /// @throws Error while there is one between other processes
  explicit StarpuMpiChannel(void* communicator, std::function<void()> failed = {});
  /// Collective; says goodbye to the others and waits until they have. Where an exception
  /// passes it waits five seconds: if that is not the exception of all processes, it goes
  /// without them, and the job has to be ended.
  ~StarpuMpiChannel() override;

  void serve_with(Handler handler) override;
  void fetch(std::int32_t from, DataRequest request, const Parts& parts,
             std::function<void()> done) override;
  void answer(std::int32_t to, const DataRequest& request, const Parts& parts,
              std::function<void()> done) override;
  void tell_all(const DataRequest& request) override;
  [[nodiscard]] Counters sent() const override;

 private:
  class StarpuMpi;
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace espalier::solver
