#pragma once

#include <memory>
#include <thread>

#include "policy/starpu/session.h"

namespace espalier::policy {

/// The thread that queues what a session lets in when no worker asks: one for all
/// contexts, from the first one's start to the last one's end.
///
/// @par Test  Session.*, HandleGate.*
class SessionWatch {
 public:
  /// The present one, or a new one.
  [[nodiscard]] static std::shared_ptr<SessionWatch> join(
      const std::shared_ptr<Session>& session);

  explicit SessionWatch(std::shared_ptr<Session> session);
  ~SessionWatch();
  SessionWatch(const SessionWatch&) = delete;
  SessionWatch& operator=(const SessionWatch&) = delete;

 private:
  const std::shared_ptr<Session> session_;
  std::thread thread_;
};

}  // namespace espalier::policy
