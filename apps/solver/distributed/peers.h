#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace espalier::solver {

/// The processes that solve a system together, as one of them sees them: what of
/// Communicator the distribution and the solve need, by its rules. In a test they are
/// threads.
class Peers {
 public:
  Peers() = default;
  virtual ~Peers() = default;
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  [[nodiscard]] virtual std::int32_t rank() const = 0;
  [[nodiscard]] virtual std::int32_t size() const = 0;
  /// Collective.
  virtual void broadcast(std::span<std::byte> bytes, std::int32_t root) = 0;
  /// Collective: over processes, in place, the same bits everywhere.
  virtual void sum(std::span<double> values) = 0;
  virtual void send(std::span<const std::byte> bytes, std::int32_t to,
                    std::int32_t tag) = 0;
  virtual void receive(std::span<std::byte> bytes, std::int32_t from,
                       std::int32_t tag) = 0;
  /// Whether the runtime of this process may sleep while it waits for others: it is not
  /// theirs too.
  [[nodiscard]] virtual bool has_own_runtime() const { return true; }
};

/// Tags of the messages between two processes.
enum class MessageTag : std::int32_t { kMatrix = 100, kForward, kBackward, kValues };

template <class T>
void send(Peers& peers, std::span<const T> values, std::int32_t to, MessageTag tag) {
  peers.send(std::as_bytes(values), to, static_cast<std::int32_t>(tag));
}
template <class T>
void receive(Peers& peers, std::span<T> values, std::int32_t from, MessageTag tag) {
  peers.receive(std::as_writable_bytes(values), from, static_cast<std::int32_t>(tag));
}

}  // namespace espalier::solver
