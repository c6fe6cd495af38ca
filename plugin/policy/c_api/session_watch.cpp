#include "policy/c_api/session_watch.h"

#include <mutex>
#include <optional>
#include <utility>

#include "policy/c_api/scheduler.h"

namespace espalier::policy {

namespace {

// As for sessions: contexts have no other place that all of them can reach.
std::mutex current_mutex;
std::weak_ptr<SessionWatch> current;

}  // namespace

std::shared_ptr<SessionWatch> SessionWatch::join(
    const std::shared_ptr<Session>& session) {
  const std::scoped_lock lock(current_mutex);
  std::shared_ptr<SessionWatch> watch = current.lock();
  if (watch && watch->session_ == session) return watch;
  watch = std::make_shared<SessionWatch>(session);
  current = watch;
  return watch;
}

SessionWatch::SessionWatch(std::shared_ptr<Session> session)
    : session_(std::move(session)) {
#ifndef STARPU_SIMGRID
  thread_ = std::thread([&watched = *session_] {
    while (const std::optional<Admitted> admitted = watched.wait_for_admitted())
      queue_all(*admitted);
  });
#endif
}

SessionWatch::~SessionWatch() {
  session_->end_waiting();
  if (thread_.joinable()) thread_.join();
}

}  // namespace espalier::policy
